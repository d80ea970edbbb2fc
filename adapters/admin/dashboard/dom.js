// Building and changing elements. Every text becomes a text node: names come from the configuration and are never markup.

/** An element with attributes and children: elements or texts. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

/** The same for SVG. */
export function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

function setAttributes(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) target.setAttribute(name, value);
}

/** Changes a text only when it differs, so that selections and screen readers are left alone. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** Shows a text, or hides its element when there is none. */
export function setNote(target, text) {
  target.hidden = !text;
  setText(target, text ?? '');
}

/**
 * Keeps the rows of a table body in step with items: a row is made once for each key and then only updated, so that the
 * focus stays where it is. `make(item)` returns `{ row, update(item) }`.
 */
export class Rows {
  #body;
  #make;
  #rows = new Map();

  constructor(body, make) {
    this.#body = body;
    this.#make = make;
  }

  get all() {
    return this.#rows.values();
  }

  /** `items` with the function that names them. */
  show(items, keyOf) {
    const gone = new Set(this.#rows.keys());
    items.forEach((item, place) => {
      const key = keyOf(item);
      gone.delete(key);
      let known = this.#rows.get(key);
      if (!known) this.#rows.set(key, (known = this.#make(item)));
      known.update(item);
      if (this.#body.children[place] !== known.row) this.#body.insertBefore(known.row, this.#body.children[place] ?? null);
    });
    for (const key of gone) {
      this.#rows.get(key).row.remove();
      this.#rows.delete(key);
    }
    const table = this.#body.closest('table');
    table.hidden = items.length === 0;
  }
}

/**
 * The cells of a new row, labelled as the table's head: on a narrow screen each shows its label. The roles keep it a table
 * for screen readers there.
 */
export function makeRow(table, head = 0) {
  const titles = [...table.tHead.rows[0].cells];
  const cells = titles.map((title, place) => {
    const cell = element(place === head ? 'th' : 'td', { role: place === head ? 'rowheader' : 'cell', 'data-label': title.textContent });
    if (place === head) cell.setAttribute('scope', 'row');
    cell.className = title.className;
    return cell;
  });
  return { row: element('tr', { role: 'row' }, ...cells), cells };
}

/** Says of the static part of a table what `makeRow` says of its rows. */
export function giveRoles(table) {
  table.setAttribute('role', 'table');
  for (const group of [table.tHead, ...table.tBodies]) group.setAttribute('role', 'rowgroup');
  table.tHead.rows[0].setAttribute('role', 'row');
  for (const title of table.tHead.rows[0].cells) title.setAttribute('role', 'columnheader');
}
