import { createHash } from 'node:crypto';
import { owner } from './signing.js';

const substitutions = [
  [/https?:\/\/[a-z0-9_]+(-secondary)?\.table\.core\.windows\.net(?::\d+)?/g, '{base}'],
  [/RequestId:[0-9a-f-]{36}/g, 'RequestId:{id}'],
  [/Time:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z/g, 'Time:{time}'],
  [/datetime'\d{4}-\d\d-\d\dT\d\d(?:%3A|:)\d\d(?:%3A|:)\d\d(?:\.\d{1,7})?Z'/g, "datetime'{time}'"],
  [/"Timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,7})?Z"/g, '"Timestamp":"{time}"'],
  [/<LastSyncTime>[^<]*<\/LastSyncTime>/g, '<LastSyncTime>{time}</LastSyncTime>'],
  [/(batch|changeset)response_[0-9a-f-]{36}/g, '$1response_{id}'],
  [/"odata.type":"[a-z_]+\./g, '"odata.type":"{account}.'],
  [new RegExp(`(fake_table_account|storagename|${owner.account})`, 'g'), '{account}'],
];

/** A body with placeholders for what differs from run to run. */
function normalised(body) {
  let text = body.replaceAll(/\r\n/g, '\n');
  // The cloud escapes what is not ASCII, which is the same JSON.
  text = text.replaceAll(/\\u([0-9a-f]{4})/gi, (escape, code) => {
    const unit = Number.parseInt(code, 16);
    return unit >= 0x80 ? String.fromCharCode(unit) : escape;
  });
  for (const [pattern, placeholder] of substitutions) text = text.replaceAll(pattern, placeholder);
  return text;
}

const codes = /"code":"(\w+)"|<(?:m:)?code>(\w+)</;

function errorCodeOf({ body }) {
  const [, json, xml] = codes.exec(body) ?? [];
  return json ?? xml;
}

/**
 * What of an answer is not as recorded; undefined when status, code and body are. `ours` is a short
 * name of the answer: its status and code, or a digest of its body.
 */
export function differenceOf(recorded, answer) {
  const theirs = normalised(recorded.body);
  const ours = normalised(answer.body);
  const codes = [errorCodeOf(recorded), errorCodeOf(answer)];
  if (recorded.status !== answer.status || codes[0] !== codes[1]) {
    const [their, our] = [recorded, answer].map(({ status }, index) =>
      `${status} ${codes[index] ?? ''}`.trim(),
    );
    return { theirs: their, shown: our, ours: our };
  }
  if (theirs === ours) return undefined;
  const digest = createHash('sha256').update(ours).digest('hex').slice(0, 12);
  return { theirs, shown: ours, ours: digest };
}
