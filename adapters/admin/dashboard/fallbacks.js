// The last requests that fell back, each with its trail.

import { element, makeRow, Rows, setText } from './dom.js';
import { clock, span, words } from './format.js';

export class FallbackTable {
  #rows;
  #empty;

  constructor(section) {
    const table = section.querySelector('table');
    this.#empty = section.querySelector('.empty');
    this.#rows = new Rows(table.tBodies[0], (entry) => makeFallbackRow(table, entry));
  }

  show(entries) {
    this.#rows.show(entries, ({ request }) => `${request.time} ${request.request_id}`);
    this.#empty.hidden = entries.length > 0;
  }
}

function makeFallbackRow(table, { request, steps }) {
  const { row, cells } = makeRow(table, 1);
  setText(cells[0], clock(request.time));
  cells[1].append(element('span', { class: 'route' }, request.requested_route), ' ', element('code', {}, request.request_id));
  const outcome = request.success ? `${request.provider ?? 'answered'}` : words(request.code ?? request.class ?? 'failed');
  cells[2].append(
    element('span', { class: request.success ? 'good' : 'bad' }, request.success ? `served by ${outcome}` : outcome),
    ` ${span(request.latency_ms)}`,
  );
  cells[3].append(element('ol', { class: 'trail' }, ...steps.map(stepItem)));
  if (steps.length === 0) cells[3].append('its attempts are not known');
  return { row, update() {} }; // it is over: nothing changes any more
}

function stepItem(step) {
  const who = [step.route, step.provider && step.provider !== step.route ? `(${step.provider})` : ''].filter(Boolean).join(' ');
  if (!step.called) return element('li', { class: 'refused' }, element('b', {}, who || 'a route'), step.class ? ` not called: ${words(step.class)}` : ' not called');
  const how = step.success ? 'answered' : words(step.class ?? 'failed');
  const status = step.status == null ? '' : ` ${step.status}`;
  return element('li', { class: step.success ? 'good' : 'bad' }, element('b', {}, who), ` ${how}${status}, ${span(step.latency_ms)}`);
}
