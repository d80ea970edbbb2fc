// The table of budgets: what is taken of each limit.

import { element, makeRow, Rows, setNote, setText } from './dom.js';
import { amount, clock } from './format.js';

const kinds = ['requests', 'tokens', 'cost'];
const nearly = 0.9; // of a limit: worth a colour

export class BudgetTable {
  #rows;
  #empty;

  constructor(section) {
    const table = section.querySelector('table');
    this.#empty = section.querySelector('.empty');
    this.#rows = new Rows(table.tBodies[0], () => makeBudgetRow(table));
  }

  /** `none`: no budget is configured. */
  show(budgets, none) {
    this.#rows.show(budgets, ({ tenant, route, window_seconds, limits }) => JSON.stringify([tenant, route, window_seconds, limits]));
    const why = none ? 'No budget is configured: nobody is limited.' : 'No budget has been charged yet.';
    setNote(this.#empty, budgets.length ? null : why);
  }
}

function makeBudgetRow(table) {
  const { row, cells } = makeRow(table);
  const meters = kinds.map((kind, place) => {
    const text = element('span', { class: 'use' });
    const bar = element('meter', { min: 0, 'aria-label': kind });
    cells[2 + place].append(text, bar);
    return { text, bar };
  });
  const update = (budget) => {
    setText(cells[0], budget.tenant || 'no tenant');
    setText(cells[1], budget.route === '*' ? 'all routes' : budget.route);
    kinds.forEach((kind, place) => showUse(meters[place], budget.used[kind], budget.limits[kind]));
    setText(cells[5], budget.window_ends ? endOf(budget.window_ends) : '–');
  };
  return { row, update };
}

function showUse({ text, bar }, used, limit) {
  setText(text, limit == null ? `${amount(used)}, no limit` : `${amount(used)} of ${amount(limit)}`);
  bar.hidden = limit == null;
  if (limit == null) return;
  bar.max = limit;
  bar.high = nearly * limit;
  bar.value = used;
}

// The time, with the day where it is another one.
function endOf(time) {
  const end = new Date(time);
  const today = end.toDateString() === new Date().toDateString();
  const day = end.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  return today ? clock(end) : `${day} ${clock(end).slice(0, 5)}`;
}
