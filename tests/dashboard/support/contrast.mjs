/**
 * Of every text that can be seen on a page the contrast with what is behind it, as WCAG 2 computes it: `{ text, ratio }`.
 * Runs in the page.
 */
export function contrasts() {
  const parse = (color) => {
    const [red, green, blue, alpha = 1] = color.match(/[\d.]+/g).map(Number);
    return { channels: [red, green, blue], alpha };
  };
  const luminance = ({ channels }) => {
    const [red, green, blue] = channels.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.alpha === 1) return color;
      if (color.alpha > 0) throw new Error(`a translucent background: ${at.outerHTML.slice(0, 80)}`);
    }
    return parse(getComputedStyle(document.documentElement).backgroundColor);
  };
  const ratioOf = (element) => {
    const style = getComputedStyle(element);
    const text = luminance(parse(element instanceof SVGElement ? style.fill : style.color));
    const back = luminance(behind(element));
    return (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
  };
  const seen = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const text = texts.currentNode.textContent.trim();
    if (text && element.checkVisibility() && !element.closest('script, .unseen, :disabled')) seen.push({ text, ratio: ratioOf(element) });
  }
  return seen;
}
