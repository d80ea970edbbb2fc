// Figures as texts. What is unknown is "no data", never 0.

export const unknown = 'no data';

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export const count = (x) => (x == null ? unknown : whole.format(x));
export const amount = (x) => (x == null ? unknown : number.format(x));
export const percent = (x) => (x == null ? unknown : `${number.format(Math.round(x * 1000) / 10)} %`);
export const score = (x) => (x == null ? unknown : x.toFixed(3));

/** A length of time that was measured, in milliseconds. */
export function span(ms) {
  if (ms == null) return unknown;
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 99_950) return `${(ms / 1000).toFixed(ms < 9995 ? 2 : 1)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

/** A wait that counts down: rounded up, so that it never says 0 before its end. */
export function wait(ms) {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 90) return `${minutes} min ${String(seconds % 60).padStart(2, '0')} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}

/** A time of day. `time` is anything that Date takes. */
export const clock = (time) => new Date(time).toLocaleTimeString('en-GB');

/** A word of the API, `half_open`, as people write it. */
export const words = (name) => name.replaceAll('_', ' ');
