import type {
  TagComparison,
  TagExpression,
  TagOperator,
  TagQuery,
} from '../../model/blobs/tag-expression.js';
import { tagsMax } from '../../model/blobs/tags.js';
import { invalidQueryParameter } from '../../model/errors/query-errors.js';
import { StorageError } from '../../model/errors/storage-error.js';

/** Where Find Blobs by Tags looks: only a search in an account may name a container. */
export type SearchScope = 'account' | 'container';

/** Parentheses inside of each other. */
const tagExpressionDepthMax = 32;

type Token =
  | { readonly kind: 'name'; readonly text: string; readonly isQuoted: boolean }
  | { readonly kind: 'value'; readonly text: string }
  | { readonly kind: 'operator'; readonly text: TagOperator }
  | { readonly kind: 'open' | 'close' | 'container' };

/** Says why an expression cannot be read. */
class TagSyntaxError extends Error {}

/**
 * The `where` of Find Blobs by Tags (blob-service §6.6).
 *
 * @throws {StorageError} `InvalidQueryParameterValue` with the reason
 */
export function parseTagQuery(text: string, scope: SearchScope): TagQuery {
  try {
    return queryOf(new Tokens(text), scope);
  } catch (error) {
    if (!(error instanceof TagSyntaxError)) throw error;
    throw invalidQueryParameter('where', text, error.message);
  }
}

/**
 * The value of `x-ms-if-tags` or `x-ms-source-if-tags` (blob-service §9.4). `and` binds tighter
 * than `or`.
 *
 * @param header the name of the header, for the error
 * @throws {StorageError} `InvalidHeaderValue` with the reason
 */
export function parseTagCondition(header: string, text: string): TagExpression {
  try {
    const tokens = new Tokens(text);
    const expression = either(tokens, 0);
    tokens.end();
    return expression;
  } catch (error) {
    if (!(error instanceof TagSyntaxError)) throw error;
    throw new StorageError('InvalidHeaderValue', {
      details: [
        ['HeaderName', header],
        ['HeaderValue', text],
        ['Reason', error.message],
      ],
    });
  }
}

function queryOf(tokens: Tokens, scope: SearchScope): TagQuery {
  let container: string | undefined;
  const comparisons: TagComparison[] = [];
  do {
    if (tokens.take('container') === undefined) comparisons.push(queryComparison(tokens));
    else if (scope === 'container') {
      throw new TagSyntaxError('@container has no place in a search in a container.');
    } else if (container !== undefined) throw new TagSyntaxError('@container is compared twice.');
    else container = containerOf(tokens);
  } while (tokens.keyword('and'));
  tokens.end();
  const names = new Set(comparisons.map(({ tag }) => tag));
  if (names.size > tagsMax) {
    throw new TagSyntaxError(`It compares ${names.size} tags; at most ${tagsMax} are allowed.`);
  }
  return Object.freeze({ container, comparisons: Object.freeze(comparisons) });
}

function containerOf(tokens: Tokens): string {
  if (tokens.take('operator')?.text !== '=') {
    throw new TagSyntaxError('@container is compared by = alone.');
  }
  return valueOf(tokens);
}

function queryComparison(tokens: Tokens): TagComparison {
  const found = comparison(tokens);
  if (found.operator === '<>') throw new TagSyntaxError('The operator <> is not for searches.');
  return found;
}

function either(tokens: Tokens, depth: number): TagExpression {
  const operands = [both(tokens, depth)];
  while (tokens.keyword('or')) operands.push(both(tokens, depth));
  return group('or', operands);
}

function both(tokens: Tokens, depth: number): TagExpression {
  const operands = [operand(tokens, depth)];
  while (tokens.keyword('and')) operands.push(operand(tokens, depth));
  return group('and', operands);
}

function group(kind: 'and' | 'or', operands: readonly TagExpression[]): TagExpression {
  const [first, ...others] = operands;
  if (first !== undefined && others.length === 0) return first;
  return Object.freeze({ kind, operands: Object.freeze(operands) });
}

function operand(tokens: Tokens, depth: number): TagExpression {
  if (tokens.take('open') === undefined) return comparison(tokens);
  if (depth >= tagExpressionDepthMax) {
    throw new TagSyntaxError(`Its parentheses are more than ${tagExpressionDepthMax} deep.`);
  }
  const inner = either(tokens, depth + 1);
  if (tokens.take('close') === undefined) throw new TagSyntaxError('A parenthesis is not closed.');
  return inner;
}

function comparison(tokens: Tokens): TagComparison {
  const tag = tokens.take('name');
  if (tag === undefined) {
    throw new TagSyntaxError(
      'A comparison begins with the name of a tag, in double quotes or none.',
    );
  }
  const operator = tokens.take('operator');
  if (operator === undefined)
    throw new TagSyntaxError(`An operator is missing behind ${tag.text}.`);
  const value = valueOf(tokens);
  return Object.freeze({ kind: 'comparison', tag: tag.text, operator: operator.text, value });
}

function valueOf(tokens: Tokens): string {
  const value = tokens.take('value');
  if (value === undefined) throw new TagSyntaxError('A value stands in single quotes.');
  return value.text;
}

/** A token and the white space before it. */
const tokenForm =
  /\s*(?:"([^"]*)"|'([^']*)'|(<>|<=|>=|[<>=])|([A-Za-z_][A-Za-z0-9_]*)|([()])|(@container\b))/iy;

/** The tokens of an expression, read one ahead. */
class Tokens {
  readonly #text: string;
  #at = 0;
  #next: Token | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#next = this.#read();
  }

  /** Consumes the next token and returns it, if it is of this kind. */
  take<Kind extends Token['kind']>(kind: Kind): Extract<Token, { kind: Kind }> | undefined {
    const token = this.#next;
    if (token?.kind !== kind) return undefined;
    this.#next = this.#read();
    return token as Extract<Token, { kind: Kind }>;
  }

  /** Consumes the next token if it is this word. Returns whether it was. */
  keyword(word: 'and' | 'or'): boolean {
    const token = this.#next;
    if (token?.kind !== 'name' || token.isQuoted || token.text.toLowerCase() !== word) return false;
    this.#next = this.#read();
    return true;
  }

  end(): void {
    if (this.#next !== undefined) throw new TagSyntaxError('Something stands behind its end.');
  }

  #read(): Token | undefined {
    tokenForm.lastIndex = this.#at;
    const found = tokenForm.exec(this.#text);
    if (found === null) {
      if (this.#text.slice(this.#at).trim() === '') return undefined;
      throw new TagSyntaxError(`It cannot be read from character ${this.#at + 1} on.`);
    }
    this.#at = tokenForm.lastIndex;
    return tokenOf(found);
  }
}

function tokenOf([, quoted, value, operator, word, parenthesis]: RegExpExecArray): Token {
  if (quoted !== undefined) return { kind: 'name', text: quoted, isQuoted: true };
  if (value !== undefined) return { kind: 'value', text: value };
  if (operator !== undefined) return { kind: 'operator', text: operator as TagOperator };
  if (word !== undefined) return { kind: 'name', text: word, isQuoted: false };
  if (parenthesis !== undefined) return { kind: parenthesis === '(' ? 'open' : 'close' };
  return { kind: 'container' };
}
