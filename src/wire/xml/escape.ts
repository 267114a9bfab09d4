/** Characters outside of XML 1.0: most controls, lone surrogates, U+FFFE and U+FFFF. */
const illegal = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** The common case: printable ASCII without markup. */
const plain = /^[ !#-%'-;=?-~]*$/;

/**
 * Markup, and the carriage return, which readers would normalise. The ampersand is first, because
 * the replacements contain it.
 */
const references = [
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ['\r', '&#xD;'],
] as const;

/**
 * Text for an element or a double-quoted attribute. Characters outside of XML 1.0 become U+FFFD, so
 * that the document is always well-formed.
 */
export function escapeXml(text: string): string {
  if (plain.test(text)) return text;
  const legal = text.replace(illegal, '\ufffd');
  return references.reduce((escaped, [from, to]) => escaped.replaceAll(from, to), legal);
}

/** True when a text has only characters of XML 1.0. */
export function isXmlText(text: string): boolean {
  return plain.test(text) || !/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text);
}
