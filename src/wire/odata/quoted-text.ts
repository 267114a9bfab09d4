/** Texts in single quotes, as paths and filters write them: a quote inside is doubled. */

/** The offset of the quote that closes the text opened at `open`; -1 when none does. */
export function closingQuote(text: string, open: number): number {
  let close = text.indexOf("'", open + 1);
  while (close >= 0 && text.charCodeAt(close + 1) === 0x27) close = text.indexOf("'", close + 2);
  return close;
}

/** The content between two quotes. */
export function unquoted(text: string, open: number, close: number): string {
  const content = text.slice(open + 1, close);
  return content.includes("'") ? content.replaceAll("''", "'") : content;
}
