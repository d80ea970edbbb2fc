// The two dialogs: the confirmation of an action, and the token.

import { setNote, setText } from './dom.js';

/** Asks before `action()` is done; stays open with the reason when that fails. */
export class Confirmation {
  #dialog = document.getElementById('confirm');
  #problem = this.#dialog.querySelector('.problem');
  #cancel = this.#dialog.querySelector('.cancel');
  #proceed = this.#dialog.querySelector('.proceed');
  #action = null;

  constructor() {
    this.#cancel.addEventListener('click', () => this.#dialog.close());
    this.#dialog.querySelector('form').addEventListener('submit', (event) => {
      event.preventDefault(); // it closes when the action has succeeded
      this.#run();
    });
    this.#dialog.addEventListener('close', () => (this.#action = null));
  }

  ask({ title, effect, proceed }, action) {
    setText(this.#dialog.querySelector('h2'), title);
    setText(this.#dialog.querySelector('.effect'), effect);
    setText(this.#proceed, proceed);
    setNote(this.#problem, null);
    this.#proceed.disabled = false;
    this.#action = action;
    this.#dialog.showModal();
    this.#cancel.focus(); // a stray Enter must do nothing
  }

  async #run() {
    const action = this.#action;
    this.#proceed.disabled = true;
    setNote(this.#problem, null);
    try {
      await action();
      if (action === this.#action) this.#dialog.close();
    } catch (error) {
      if (action !== this.#action) return; // the person has gone on to another
      setNote(this.#problem, error.message);
      this.#proceed.disabled = false;
      this.#proceed.focus();
    }
  }
}

/** Asks for the token until there is one. */
export class TokenDialog {
  #dialog = document.getElementById('token');
  #input = this.#dialog.querySelector('input');
  #problem = this.#dialog.querySelector('.problem');

  constructor() {
    this.#dialog.addEventListener('cancel', (event) => event.preventDefault()); // without a token there is nothing to see
  }

  /** `refused`: the token that was given before is wrong. */
  ask(refused) {
    setNote(this.#problem, refused ? 'The gateway refuses this token. Is it the value of the variable that admin.token_env names?' : null);
    this.#input.value = '';
    if (!this.#dialog.open) this.#dialog.showModal();
    this.#input.focus();
    return new Promise((resolve) => {
      this.#dialog.querySelector('form').addEventListener(
        'submit',
        () => {
          const token = this.#input.value.trim();
          this.#input.value = '';
          resolve(token);
        },
        { once: true },
      );
    });
  }
}
