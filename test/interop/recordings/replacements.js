// What differs between two services by right: instants of writes and what is made of them, and
// continuation tokens. A later request that repeats one of the recorded gets ours instead.

const learnedFromBody = /W\/\\?"datetime'[^']*'\\?"|"Timestamp":"[^"]*"/g;
const continuation = /^x-ms-continuation-next(partitionkey|rowkey|tablename)$/;

/** Pairs what the cloud answered with what this server answered, in their order. */
export function learnReplacements(replacements, recorded, answer) {
  const theirs = textsOf(recorded);
  const ours = textsOf(answer);
  if (theirs.length === ours.length) {
    for (const [index, text] of theirs.entries()) learn(replacements, text, ours[index] ?? '');
  }
  for (const [name, value] of recorded.headers) {
    const given = answer.headers.get(name);
    if (continuation.test(name) && given !== undefined) {
      replacements.set(encodeURIComponent(value), encodeURIComponent(given));
      replacements.set(value, given);
    }
  }
}

function textsOf({ headers, body }) {
  const etag = headers.get('etag');
  const found = body.replaceAll('%3a', '%3A').match(learnedFromBody) ?? [];
  return etag === undefined ? found : [etag, ...found];
}

const instant = /\d{4}-\d\d-\d\dT\d\d(?::|%3A)\d\d(?::|%3A)\d\d(?:\.\d+)?Z/;

function learn(replacements, theirs, ours) {
  const [their] = instant.exec(theirs) ?? [];
  const [our] = instant.exec(ours) ?? [];
  if (their === undefined || our === undefined) return;
  replacements.set(their, our);
  replacements.set(their.replaceAll('%3A', ':'), our.replaceAll('%3A', ':'));
}

/** A text of a recorded request with ours for what was learned. */
export function replaced(replacements, text) {
  let result = text;
  for (const [theirs, ours] of replacements) {
    if (theirs !== '' && result.includes(theirs)) result = result.replaceAll(theirs, ours);
  }
  return result;
}

/** The body of a recorded request, with the line ends that it had on the wire. */
export function sentBodyOf({ body, headers }) {
  const isBatch = (headers.get('content-type') ?? '').startsWith('multipart/');
  return isBatch ? body.replaceAll(/\r?\n/g, '\r\n') : body;
}
