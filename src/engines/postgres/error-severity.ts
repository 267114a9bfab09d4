/** The field of an error with the severity in English, whatever language the server speaks. */
const severityField = 'V'.charCodeAt(0);

/**
 * The severity of an error as no language changes it, from the body of its message. Undefined when
 * who sent the error does not tell it, as old poolers do not.
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
