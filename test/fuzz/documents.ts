import type { SimRandom } from '../support/sim-random.js';

const retention = '<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy>';
const corsRule =
  '<CorsRule><AllowedOrigins>*,http://a.example</AllowedOrigins><AllowedMethods>GET,PUT' +
  '</AllowedMethods><MaxAgeInSeconds>5</MaxAgeInSeconds><ExposedHeaders>x-ms-*</ExposedHeaders>' +
  '<AllowedHeaders>x-*</AllowedHeaders></CorsRule>';

/** The properties of a service with this many CORS rules for other origins. */
export function propertiesXml(rules = 1): string {
  return (
    '<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete>' +
    `<Read>false</Read><Write>true</Write>${retention}</Logging>` +
    `<Cors>${corsRule.repeat(rules)}</Cors></StorageServiceProperties>`
  );
}

/** The stored policies of a table or a queue, one for each name. */
export function policiesXml(permission: string, names: readonly string[] = ['a']): string {
  const policies = names.map(
    (name) =>
      `<SignedIdentifier><Id>${name}</Id><AccessPolicy><Start>2024-01-01</Start>` +
      `<Expiry>2090-01-01T00:00:00Z</Expiry><Permission>${permission}</Permission>` +
      '</AccessPolicy></SignedIdentifier>',
  );
  return `<SignedIdentifiers>${policies.join('')}</SignedIdentifiers>`;
}

/** What a user delegation key is asked for with. */
export function keyInfoXml(expiry: string): string {
  return `<KeyInfo><Expiry>${expiry}</Expiry></KeyInfo>`;
}

/** Each entity expands to ten of the one before: 10 GB in all. */
const entities = Array.from({ length: 9 }, (_, index) => {
  const ten = `&e${index};`.repeat(10);
  return `<!ENTITY e${index + 1} "${ten}">`;
});
const declarations = [
  '<!DOCTYPE a [<!ENTITY e "x">]>',
  `<!DOCTYPE a [<!ENTITY e0 "0123456789">${entities.join('')}]>`,
  '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
  '<!DOCTYPE a SYSTEM "http://127.0.0.1:1/x.dtd">',
  '<!DOCTYPE a [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>',
  '<?xml version="1.1"?>',
  '<?xml version="1.0" encoding="utf-16"?>',
  '<?xml version="1.0" encoding="ebcdic" standalone="no"?>',
];

/** A document with declarations that a parser must not follow, and references to them. */
export function withDeclaration(random: SimRandom, document: string): string {
  const reference = random.pick(['&e;', '&e9;', '']);
  return `${random.pick(declarations)}${document.replace('>', `>${reference}`)}`;
}

/** A document with too many rules or policies, repeated, or with too many attributes. */
export function multiplied(random: SimRandom, document: string): string {
  const names = Array.from({ length: random.pick([6, 300]) }, (_, index) => `n${index}`);
  return random.pick([
    () => propertiesXml(random.pick([5, 6, 400])),
    () => policiesXml('r', names),
    () => document.repeat(random.between(2, 40)),
    () => document.replace('>', ` ${'a="b" '.repeat(random.between(2, 2000))}>`),
  ])();
}

/** The bytes of a document in an encoding that may differ from the declared one. */
export function encodedXml(random: SimRandom, document: string): Buffer {
  return random.pick([
    () => Buffer.from(`\uFEFF${document}`),
    () => Buffer.from(`\uFEFF${document}`, 'utf16le'),
    () => Buffer.from(document, 'utf16le'),
    () => Buffer.from(`\uFEFF${document}`, 'utf16le').swap16(),
    () => Buffer.from(`${document}é`, 'latin1'),
    () => Buffer.concat([Buffer.from(document), random.bytes(random.between(1, 40))]),
  ])();
}
