// The table of circuits, with what an operator may do to them.

import { element, makeRow, Rows, setText } from './dom.js';
import { percent, wait, words } from './format.js';

// What each mode is called on its button, and what choosing it does.
const modes = {
  auto: ['Auto', 'Automatic', (id) => `${id} opens and closes by its own rules again.`],
  forced_open: ['Force open', 'Force open', (id) => `${id} refuses every call until its mode is changed; requests take their fallbacks.`],
  disabled: ['Disable', 'Disable', (id) => `${id} admits every call, however many fail, until its mode is changed.`],
};

/** The path of a circuit's changes; the id has its own percent-encoding, and gets one more. */
export const pathOf = (id) => `admin/circuits/${encodeURIComponent(id)}`;

/** `act({ title, effect, proceed, path, body })` asks the person and then does it. */
export class CircuitTable {
  #rows;
  #note;
  #empty;

  constructor(section, act) {
    const table = section.querySelector('table');
    this.#note = section.querySelector('small');
    this.#empty = section.querySelector('.empty');
    this.#rows = new Rows(table.tBodies[0], ({ circuit }) => new CircuitRow(table, circuit.id, act));
  }

  /** `limits(circuit)` are the settings of its profile, or nothing. Returns how many are not closed. */
  show(circuits, limits, taken) {
    this.#empty.hidden = circuits.length > 0;
    this.#rows.show(
      circuits.map((circuit) => ({ circuit, limits: limits(circuit), taken })),
      ({ circuit }) => circuit.id,
    );
    const cut = circuits.filter(({ state, mode }) => mode === 'forced_open' || (mode === 'auto' && state !== 'closed')).length;
    const off = circuits.filter(({ mode }) => mode === 'disabled').length;
    setText(this.#note, [cut && `${cut} not closed`, off && `${off} disabled`].filter(Boolean).join(', ') || (circuits.length ? 'all closed' : ''));
    return cut;
  }

  /** Lets the waits go on. */
  tick(now) {
    for (const row of this.#rows.all) row.tick(now);
  }
}

class CircuitRow {
  #cells;
  #pill = element('span', { class: 'pill' });
  #buttons = {};
  #shown = null;

  constructor(table, id, act) {
    const { row, cells } = makeRow(table);
    this.row = row;
    this.#cells = cells;
    cells[0].append(id);
    cells[1].append(this.#pill);
    const group = element('span', { class: 'modes', role: 'group', 'aria-label': `Mode of ${id}` });
    for (const [mode, [label, title, effect]] of Object.entries(modes)) {
      const button = element('button', { type: 'button' }, label);
      button.addEventListener('click', () => {
        if (button.getAttribute('aria-pressed') === 'true') return;
        act({ title: `${title}: ${id}`, effect: effect(id), proceed: label, path: pathOf(id), body: { mode } });
      });
      group.append((this.#buttons[mode] = button));
    }
    cells[8].append(group);
    const reset = element('button', { type: 'button', 'aria-label': `Reset ${id}` }, 'Reset');
    reset.addEventListener('click', () =>
      act({
        title: `Reset: ${id}`,
        effect: `${id} closes and forgets its streak and window; its mode stays.`,
        proceed: 'Reset',
        path: pathOf(id),
        body: { reset: true },
      }),
    );
    cells[9].append(reset);
  }

  update(shown) {
    this.#shown = shown;
    const { circuit, limits } = shown;
    const [, , , streak, failures, slow, probes, trips] = this.#cells;
    const state = circuit.mode === 'auto' ? circuit.state : circuit.mode;
    this.#pill.dataset.state = state;
    setText(this.#pill, circuit.mode === 'disabled' ? `disabled (${words(circuit.state)})` : words(state));
    setText(streak, of(String(circuit.consecutive_failures), limits && String(limits.consecutive_failures)));
    setText(failures, rate(circuit, circuit.failure_rate, limits?.window?.failure_rate));
    setText(slow, rate(circuit, circuit.slow_call_rate, limits?.window?.slow_call_rate));
    setText(probes, circuit.probes_in_flight ? `${circuit.probes_in_flight} in flight` : 'none');
    setText(trips, String(circuit.trips));
    for (const [mode, button] of Object.entries(this.#buttons)) button.setAttribute('aria-pressed', String(mode === circuit.mode));
    this.tick(performance.now());
  }

  tick(now) {
    setText(this.#cells[2], waitOf(this.#shown.circuit, now - this.#shown.taken));
  }
}

// The remaining wait, `age` ms after it was asked for.
function waitOf({ mode, state, retry_after_ms }, age) {
  if (mode === 'forced_open') return 'until changed';
  if (state === 'closed') return '–';
  if (retry_after_ms == null) return state === 'half_open' ? 'probing' : 'unknown';
  const rest = retry_after_ms - age;
  return rest > 0 ? wait(rest) : 'due';
}

const of = (figure, limit) => (limit ? `${figure} of ${limit}` : figure);

// A rate of the window with the limit at which it trips.
function rate({ window_calls }, value, limit) {
  if (window_calls == null) return 'no window';
  if (value == null) return 'no data';
  return limit == null ? percent(value) : `${percent(value)} of ${percent(limit)}`;
}
