/** A JSON value that keeps the spelling of numbers, and the order and repetition of members. */
export type ExactJson =
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'word'; readonly text: 'true' | 'false' | 'null' }
  | { readonly kind: 'list'; readonly items: readonly ExactJson[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [string, ExactJson])[] };

// No white space: the service writes compact JSON, and clients rely on it.
const tokenPattern =
  /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[{}[\],:]|true|false|null/y;

export function parseExact(text: string): ExactJson {
  const reader = new Reader(text);
  const value = reader.value();
  reader.end();
  return value;
}

export function objectMembers(json: ExactJson): ReadonlyMap<string, ExactJson> {
  if (json.kind !== 'object') throw new Error(`no object: ${JSON.stringify(json)}`);
  const members = new Map(json.members);
  if (members.size !== json.members.length) throw new Error('a member occurs twice');
  return members;
}

export function listItems(json: ExactJson | undefined): readonly ExactJson[] {
  if (json?.kind !== 'list') throw new Error(`no list: ${JSON.stringify(json)}`);
  return json.items;
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  end(): void {
    if (this.#at !== this.#text.length) throw new Error(`more text at ${this.#at}`);
  }

  value(): ExactJson {
    const token = this.#next();
    if (token === '{') return this.#object();
    if (token === '[') return { kind: 'list', items: this.#items() };
    if (token.startsWith('"')) return { kind: 'string', value: JSON.parse(token) as string };
    if (token === 'true' || token === 'false' || token === 'null') {
      return { kind: 'word', text: token };
    }
    if (!/^[-\d]/.test(token)) throw new Error(`no value at ${this.#at}: ${token}`);
    return { kind: 'number', text: token };
  }

  #object(): ExactJson {
    const members: (readonly [string, ExactJson])[] = [];
    if (this.#skip('}')) return { kind: 'object', members };
    for (;;) {
      const name = JSON.parse(this.#next()) as string;
      if (this.#next() !== ':') throw new Error(`no colon before ${this.#at}`);
      members.push([name, this.value()]);
      const token = this.#next();
      if (token === '}') return { kind: 'object', members };
      if (token !== ',') throw new Error(`no comma before ${this.#at}`);
    }
  }

  #items(): ExactJson[] {
    const items: ExactJson[] = [];
    if (this.#skip(']')) return items;
    for (;;) {
      items.push(this.value());
      const token = this.#next();
      if (token === ']') return items;
      if (token !== ',') throw new Error(`no comma before ${this.#at}`);
    }
  }

  #skip(token: string): boolean {
    if (this.#text[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }

  #next(): string {
    tokenPattern.lastIndex = this.#at;
    const token = tokenPattern.exec(this.#text)?.[0];
    if (token === undefined) {
      throw new Error(`no JSON at ${this.#at} of ${this.#text.slice(this.#at, this.#at + 200)}`);
    }
    this.#at += token.length;
    return token;
  }
}
