// The page's parts put together: what is asked for when, and which part shows it.

import { Api } from './api.js';
import { BudgetTable } from './budgets.js';
import { Chart } from './chart.js';
import { CircuitTable } from './circuits.js';
import { Confirmation, TokenDialog } from './dialogs.js';
import { giveRoles, setNote, setText } from './dom.js';
import { EventStream } from './events.js';
import { FallbackTable } from './fallbacks.js';
import { amount, clock, span, words } from './format.js';
import { describeBreakers, HealthTable } from './health.js';
import { History, length, step } from './history.js';
import { Trails } from './trails.js';

const byId = (id) => document.getElementById(id);
const section = { traffic: byId('traffic'), circuits: byId('circuits'), health: byId('health'), budgets: byId('budgets'), fallbacks: byId('fallbacks') };
document.querySelectorAll('table').forEach(giveRoles);

const tokenDialog = new TokenDialog();
const confirmation = new Confirmation();
const api = new Api((refused) => tokenDialog.ask(refused));

const circuitTable = new CircuitTable(section.circuits, act);
const healthTable = new HealthTable(section.health);
const budgetTable = new BudgetTable(section.budgets);
const fallbackTable = new FallbackTable(section.fallbacks);
const noRequests = 'No requests in the last 5 minutes';
const charts = [
  new Chart(byId('rate-chart'), {
    title: 'Requests per second',
    lines: [
      { name: 'all', field: 'rate' },
      { name: 'failed', field: 'failures' },
    ],
    format: amount,
    noData: noRequests,
  }),
  new Chart(byId('latency-chart'), {
    title: 'Latency',
    lines: [
      { name: 'p50', field: 'latency50' },
      { name: 'p95', field: 'latency95' },
    ],
    format: span,
    noData: noRequests,
  }),
  new Chart(byId('first-token-chart'), {
    title: 'Time to first token',
    lines: [
      { name: 'p50', field: 'firstToken50' },
      { name: 'p95', field: 'firstToken95' },
    ],
    format: span,
    noData: 'No streams in the last 5 minutes',
  }),
];

const history = new History();
const trails = new Trails();
const figures = { circuits: [], configuration: null }; // as last answered
let live = false;

// ---- asking ------------------------------------------------------------------------------------------------------

/** Asks now, or soon when it asked a moment ago; never twice at the same time. */
function gently(ask, pause) {
  let busy = false;
  let wanted = false;
  const run = async () => {
    if (busy) return void (wanted = true);
    busy = true;
    wanted = false;
    if (live) await ask();
    setTimeout(() => {
      busy = false;
      if (wanted) run();
    }, pause);
  };
  return run;
}

// Asks for something and shows it; what goes wrong is said where it would be shown.
const part = (where, ask) => async () => {
  const problem = where.querySelector('.problem');
  try {
    await ask();
    setNote(problem, null);
  } catch (error) {
    if (live) setNote(problem, `These figures could not be refreshed: ${error.message}`);
  }
};

const askCircuits = gently(
  part(section.circuits, async () => {
    const { circuits } = await api.get('admin/circuits');
    figures.circuits = circuits;
    const cut = circuitTable.show(circuits, limitsOf, performance.now());
    document.title = cut ? `(${cut}) Switchyard` : 'Switchyard'; // seen while another tab is in front
    noteTime();
  }),
  300,
);
const askHealth = gently(
  part(section.health, async () => {
    const health = await api.get('admin/health');
    healthTable.show(health, describeBreakers(figures.configuration, figures.circuits));
  }),
  2000,
);
const askBudgets = gently(
  part(section.budgets, async () => {
    const { budgets } = await api.get('admin/budgets');
    budgetTable.show(budgets, figures.configuration?.budgets.length === 0);
  }),
  2000,
);
const askConfiguration = part(section.circuits, async () => {
  figures.configuration = await api.get('admin/config');
});

function askAll() {
  if (!figures.configuration && live) askConfiguration();
  askCircuits();
  askHealth();
  askBudgets();
}

// The settings of a circuit's profile.
function limitsOf({ provider }) {
  const { providers, circuits } = figures.configuration ?? {};
  return circuits?.[providers[provider]?.circuit];
}

// ---- events ------------------------------------------------------------------------------------------------------

let waiting = null; // events that come while the log is read: they are newer than it, or in it

async function readLog() {
  waiting = [];
  const until = api.now();
  const since = until - length * step;
  let known = null;
  await part(section.traffic, async () => {
    const limit = 5_000;
    const { rows } = await api.get(`admin/telemetry?since=${Math.floor(since)}&limit=${limit}`);
    const oldest = rows.length < limit ? since : Date.parse(rows.at(-1).time);
    history.clear(oldest);
    trails.clear();
    const requests = rows.filter(({ kind }) => kind === 'request');
    requests.forEach((row) => history.add(row));
    trails.load(rows);
    known = new Set(requests.map(({ request_id }) => request_id));
  })();
  if (!known) history.clear(until); // what came before is not known
  const late = waiting;
  waiting = null;
  for (const [name, data] of late) if (!known?.has(data.request_id)) take(name, data);
  showFallbacks();
  drawCharts();
}

function drawCharts() {
  const points = history.points(api.now());
  charts.forEach((chart) => chart.show(points));
}

function take(name, data) {
  if (waiting) return void waiting.push([name, data]);
  if (name === 'request') history.add(data);
  if (trails.take(name, data)) showFallbacks();
  if (name === 'circuit_state') tell(data);
  if (name === 'circuit_state' || name === 'attempt' || name === 'circuit_refused') askCircuits();
  if (name === 'circuit_state' || name === 'attempt') askHealth();
  if (name === 'request') askBudgets();
  if (name === 'reload') askConfiguration().then(askAll);
}

// At most once a frame, however many requests fall back.
let drawing = false;
function showFallbacks() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    fallbackTable.show(trails.latest);
  });
}

// For screen readers: a circuit's change of state, and nothing else.
function tell({ circuit, state, mode }) {
  setText(byId('news'), `Circuit ${circuit} is ${words(mode === 'auto' ? state : mode)}`);
}

// ---- connection --------------------------------------------------------------------------------------------------

const connection = { box: byId('connection'), text: byId('connection-text'), retry: byId('retry') };
let asOf = null; // when figures last came

function noteTime() {
  asOf = Date.now();
  if (live) byId('main').dataset.figures = 'current';
}

async function onState(state, problem, delay) {
  live = state === 'live';
  connection.box.dataset.state = state === 'connecting' && asOf ? 'lost' : state;
  connection.retry.hidden = state !== 'lost';
  byId('forget').hidden = api.token === null;
  if (!live && asOf) byId('main').dataset.figures = 'stale';
  if (live) {
    setText(connection.text, 'Live');
    const reading = readLog(); // first of all: it puts off the events that come meanwhile
    await askConfiguration();
    askAll();
    await reading;
  } else if (state === 'connecting') {
    setText(connection.text, asOf ? 'Connection lost. Trying again' : 'Connecting');
  } else {
    const old = asOf ? ` Figures are those of ${clock(asOf)}.` : '';
    setText(connection.text, `Connection lost. ${problem} Trying again in ${Math.ceil(delay / 1000)} s.${old}`);
  }
}

const stream = new EventStream(api, { event: take, state: onState });
connection.retry.addEventListener('click', () => stream.retryNow());

// ---- actions -----------------------------------------------------------------------------------------------------

function act({ title, effect, proceed, path, body }) {
  confirmation.ask({ title, effect, proceed }, async () => {
    await api.post(path, body);
    askCircuits();
  });
}

byId('reset-all').addEventListener('click', () =>
  act({
    title: 'Reset all circuits',
    effect: 'Every circuit closes and forgets its streak and window, those of failing providers too. Modes stay.',
    proceed: 'Reset all',
    path: 'admin/circuits',
    body: { reset: true },
  }),
);
byId('forget').addEventListener('click', () => {
  api.forgetToken();
  location.reload();
});

// ---- time --------------------------------------------------------------------------------------------------------

setInterval(() => {
  if (live) circuitTable.tick(performance.now());
}, 250);
setInterval(drawCharts, 1_000);
setInterval(askAll, 5_000); // what changes without an event
stream.run();
