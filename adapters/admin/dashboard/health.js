// The table of providers' health, and what it is used for.

import { makeRow, Rows, setText } from './dom.js';
import { count, percent, score, span } from './format.js';

const reorders = {
  off: 'Reorder by health is off: health is shown, and changes nothing.',
  fallbacks: 'Reorder by health is on for fallbacks: the healthiest is tried first.',
  all: 'Reorder by health is on for all routes: the healthiest is tried first, even before the primary.',
};

export class HealthTable {
  #rows;
  #note;
  #reorder;

  constructor(section) {
    const table = section.querySelector('table');
    this.#note = section.querySelector('small');
    this.#reorder = section.querySelector('.note');
    this.#rows = new Rows(table.tBodies[0], () => makeHealthRow(table));
  }

  show({ providers, window_seconds, reorder }, breakers) {
    this.#rows.show(providers, ({ id }) => id);
    setText(this.#note, `last ${window_seconds % 60 ? `${window_seconds} s` : `${window_seconds / 60} min`}`);
    setText(this.#reorder, `${reorders[reorder] ?? reorder} ${breakers}`);
  }
}

function makeHealthRow(table) {
  const { row, cells } = makeRow(table);
  const update = (provider) => {
    const texts = [
      provider.id,
      score(provider.score),
      count(provider.samples),
      percent(provider.success_rate),
      span(provider.p50_ms),
      span(provider.p95_ms),
      span(provider.p99_ms),
    ];
    texts.forEach((text, place) => {
      setText(cells[place], text);
      cells[place].classList.toggle('unknown', text === 'no data');
    });
  };
  return { row, update };
}

/** Says for which providers a circuit stands between them and the requests. */
export function describeBreakers(configuration, circuits) {
  if (!configuration) return ''; // not known yet
  const { providers } = configuration;
  const names = Object.keys(providers);
  const without = names.filter((name) => providers[name].circuit === null);
  const disabled = circuits.filter(({ mode }) => mode === 'disabled').map(({ id }) => id);
  const parts = [
    without.length === 0
      ? 'Circuit breakers are on for every provider'
      : without.length === names.length
        ? 'Circuit breakers are off: no provider has one'
        : `Circuit breakers are on, but not for ${without.join(', ')}`,
  ];
  if (disabled.length) parts.push(`disabled by an operator: ${disabled.join(', ')}`);
  return `${parts.join('; ')}.`;
}
