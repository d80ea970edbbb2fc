// A small line chart in SVG: up to two lines over the last minutes, with gaps where nothing is known.

import { clock } from './format.js';
import { element, setText, shape } from './dom.js';

const height = 96;
const edge = { left: 2, right: 2, top: 8, bottom: 18 };

export class Chart {
  #lines;
  #format;
  #title;
  #figures;
  #drawing;
  #noData;
  #points = [];

  /**
   * `lines` have a `name` and the `field` of a point; the first is drawn as an area. `format` makes a text of a value;
   * `noData` says what an empty chart means.
   */
  constructor(figure, { title, lines, format, noData }) {
    this.#lines = lines;
    this.#format = format;
    this.#title = title;
    this.#figures = lines.map(() => element('b'));
    this.#drawing = shape('svg', { role: 'img', height });
    const legend = lines.map(({ name }, place) =>
      element('span', { class: `legend line-${place}` }, element('i', { 'aria-hidden': 'true' }), `${name} `, this.#figures[place]),
    );
    this.#noData = element('span', { class: 'no-data', hidden: '' }, noData);
    figure.append(
      element('figcaption', {}, element('span', { class: 'chart-title' }, title), ...legend),
      element('div', { class: 'plot' }, this.#drawing, this.#noData),
    );
    new ResizeObserver(() => this.#draw()).observe(this.#drawing);
  }

  show(points) {
    this.#points = points;
    this.#draw();
  }

  #draw() {
    const width = Math.round(this.#drawing.getBoundingClientRect().width);
    if (width === 0 || this.#points.length === 0) return;
    const values = this.#points.flatMap((point) => this.#lines.map(({ field }) => point[field] ?? 0));
    const highest = Math.max(...values);
    const known = this.#points.some((point) => this.#lines.some(({ field }) => point[field] != null));
    const scale = {
      x: (place) => edge.left + (place * (width - edge.left - edge.right)) / (this.#points.length - 1),
      y: (value) => height - edge.bottom - (value * (height - edge.top - edge.bottom)) / (highest || 1),
    };
    // Before the first answer there is nothing to say.
    this.#noData.hidden = known || this.#points.every(({ rate }) => rate === null);
    this.#drawing.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.#drawing.replaceChildren(
      ...this.#frame(width),
      ...this.#lines.flatMap(({ field }, place) => this.#line(field, place, scale)).reverse(),
      shape('text', { x: 2, y: edge.top + 11 }, known && highest > 0 ? this.#format(highest) : ''),
    );
    this.#describe(highest, known);
  }

  #frame(width) {
    const bottom = height - edge.bottom;
    const times = [
      [0, 'start'],
      [(this.#points.length - 1) / 2, 'middle'],
      [this.#points.length - 1, 'end'],
    ];
    return [
      shape('line', { class: 'axis', x1: 0, x2: width, y1: bottom + 0.5, y2: bottom + 0.5 }),
      shape('line', { class: 'grid', x1: 0, x2: width, y1: edge.top + 0.5, y2: edge.top + 0.5 }),
      
      ...times.map(([place, anchor]) =>
        shape(
          'text',
          { x: (place * width) / (this.#points.length - 1), y: height - 5, 'text-anchor': anchor },
          clock(this.#points[Math.round(place)].at).slice(0, 5),
        ),
      ),
    ];
  }

  #line(field, place, scale) {
    const drawn = [];
    for (const run of runsOf(this.#points, field)) {
      const path = run.map((at) => `${scale.x(at).toFixed(1)},${scale.y(this.#points[at][field]).toFixed(1)}`).join(' ');
      if (run.length === 1) {
        const [cx, cy] = path.split(',');
        drawn.push(shape('circle', { class: `line-${place}`, cx, cy, r: 1.8 }));
        continue;
      }
      drawn.push(shape('polyline', { class: `line-${place}`, points: path }));
      if (place > 0) continue;
      const base = (at) => `${scale.x(at).toFixed(1)},${height - edge.bottom}`;
      drawn.push(shape('polygon', { class: `area-${place}`, points: `${base(run[0])} ${path} ${base(run.at(-1))}` }));
    }
    return drawn;
  }

  // The last figures in the legend, and the drawing in words.
  #describe(highest, known) {
    const last = this.#points.at(-1);
    const texts = this.#lines.map(({ field }) => (last[field] == null ? '–' : this.#format(last[field])));
    texts.forEach((text, place) => setText(this.#figures[place], text));
    const now = this.#lines.map(({ name }, place) => `${name} ${texts[place] === '–' ? 'no data' : texts[place]}`).join(', ');
    const words = known ? `now ${now}; highest of the last 5 minutes ${this.#format(highest)}` : 'no data';
    this.#drawing.setAttribute('aria-label', `${this.#title}: ${words}`);
  }
}

// The places of points that follow each other and have a value.
function runsOf(points, field) {
  const runs = [];
  points.forEach((point, place) => {
    if (point[field] == null) return;
    const last = runs.at(-1);
    if (last?.at(-1) === place - 1) last.push(place);
    else runs.push([place]);
  });
  return runs;
}
