/** The field of an error with the severity in English, whatever language the server speaks. */
const severityField = 'V'.charCodeAt(0);

/**
 * The untranslated severity of an error, from the body of its message. Undefined when the sender
 * leaves it out, as old poolers do.
 */
export function plainSeverityIn(body: Buffer): string | undefined {
  for (let at = 0; at < body.length;) {
    const end = body.indexOf(0, at);
    // The last field has a type of zero and no text.
    if (end <= at) return undefined;
    if (body[at] === severityField) return body.toString('utf8', at + 1, end);
    at = end + 1;
  }
  return undefined;
}
