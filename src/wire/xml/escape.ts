/** What is no XML 1.0 character: most controls, lone surrogates, U+FFFE and U+FFFF. */
const illegal = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** Most texts: printable ASCII without markup. */
const plain = /^[ !#-%'-;=?-~]*$/;

/**
 * Markup, and the carriage return, which a reader would normalise away. The ampersand is the first,
 * because the others bring one in.
 */
const references = [
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ['\r', '&#xD;'],
] as const;

/**
 * Text for an element or a double-quoted attribute. What XML 1.0 cannot express becomes U+FFFD, so
 * that the document stays well-formed whatever a client sent.
 */
export function escapeXml(text: string): string {
  if (plain.test(text)) return text;
  const legal = text.replace(illegal, '\ufffd');
  return references.reduce((escaped, [from, to]) => escaped.replaceAll(from, to), legal);
}

/** Whether XML 1.0 can express a text: it has only characters that documents may have. */
export function isXmlText(text: string): boolean {
  return !/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text);
}
