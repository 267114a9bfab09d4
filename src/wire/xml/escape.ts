/**
 * Markup, the carriage return, which a reader would normalise away, and what is no XML 1.0
 * character: most controls, lone surrogates, U+FFFE and U+FFFF.
 */
const special = /[&<>"]|[^\t\n\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** Most texts: printable ASCII without markup. */
const plain = /^[ !#-%'-;=?-~]*$/;

function escapeCharacter(character: string): string {
  switch (character) {
    case '&':
      return '&amp;';
    case '<':
      return '&lt;';
    case '>':
      return '&gt;';
    case '"':
      return '&quot;';
    case '\r':
      return '&#xD;';
    default:
      return '\ufffd';
  }
}

/**
 * Text for an element or a double-quoted attribute. What XML 1.0 cannot express becomes U+FFFD, so
 * that the document stays well-formed whatever a client sent.
 */
export function escapeXml(text: string): string {
  return plain.test(text) ? text : text.replace(special, escapeCharacter);
}

/** Whether XML 1.0 can express a text: it has only characters that documents may have. */
export function isXmlText(text: string): boolean {
  return !/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text);
}
