import type { ComparisonOperator, Filter } from '../../model/edm/filter.js';
import type { EdmType, EdmValue } from '../../model/edm/value.js';
import { StorageError } from '../../model/errors/storage-error.js';
import { FilterLexer, type Token } from './filter-lexer.js';

/** The longest filter; the header of a request is not longer. */
export const filterLengthMax = 65_536;

/** The nesting limit of the result. Chains and doubled parentheses do not nest. */
export const filterDepthMax = 100;

/** The properties whose types are fixed. */
interface Declared {
  readonly types: ReadonlyMap<string, EdmType>;
  /** True when other properties may occur. */
  readonly open: boolean;
}

const entityProperties: Declared = {
  types: new Map<string, EdmType>([
    ['PartitionKey', 'Edm.String'],
    ['RowKey', 'Edm.String'],
    ['Timestamp', 'Edm.DateTime'],
  ]),
  open: true,
};

const tableProperties: Declared = {
  types: new Map<string, EdmType>([['TableName', 'Edm.String']]),
  open: false,
};

/**
 * Parses the `$filter` of a query of entities (table-service §5). Undefined when the text is
 * empty or white space. Takes time in proportion to the text and nests no calls.
 *
 * Throws `InvalidInput` for syntax errors, comparisons with null, a key compared with anything but
 * a string, Timestamp compared with anything but a date, and conditions that are not Boolean;
 * `NotImplemented` for functions, arithmetic and comparisons other than a property with a literal.
 */
export function parseFilter(text: string): Filter | undefined {
  return parse(text, entityProperties);
}

/** Parses the `$filter` of a query of tables: as above, but only `TableName` may be mentioned. */
export function parseTableFilter(text: string): Filter | undefined {
  return parse(text, tableProperties);
}

function parse(text: string, declared: Declared): Filter | undefined {
  if (text.trim() === '') return undefined;
  if (text.length > filterLengthMax) throw new StorageError('InvalidInput');
  return new FilterParser(text, declared).parse();
}

/** A parsed condition and the depth of its tree. */
interface Condition {
  readonly kind: 'condition';
  readonly filter: Filter;
  readonly depth: number;
}

type Operand =
  | Condition
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'literal'; readonly value: EdmValue }
  | { readonly kind: 'null' };

/** The parser's state between an opening parenthesis, or the start, and the current token. */
interface Level {
  /** Finished operands of `or`. */
  readonly alternatives: Operand[];
  /** Operands of the current `and` chain. */
  conjuncts: Operand[];
  /** True when an odd number of `not` precedes the current operand. */
  negated: boolean;
  /** The left side and operator of a comparison whose right side is being read. */
  pending: { readonly left: Operand; readonly operator: ComparisonOperator } | undefined;
}

function newLevel(): Level {
  return { alternatives: [], conjuncts: [], negated: false, pending: undefined };
}

const comparisonOperators: ReadonlyMap<string, ComparisonOperator> = new Map<
  string,
  ComparisonOperator
>([
  ['eq', 'eq'],
  ['ne', 'ne'],
  ['gt', 'gt'],
  ['ge', 'ge'],
  ['lt', 'lt'],
  ['le', 'le'],
]);

const arithmeticOperators: ReadonlySet<string> = new Set(['add', 'sub', 'mul', 'div', 'mod']);

/**
 * An operator-precedence parser with an explicit stack of parentheses. It alternates between two
 * states: it expects an operand, or an operator.
 */
class FilterParser {
  readonly #lexer: FilterLexer;
  readonly #declared: Declared;
  readonly #outer: Level[] = [];
  #level = newLevel();

  constructor(text: string, declared: Declared) {
    this.#lexer = new FilterLexer(text);
    this.#declared = declared;
  }

  parse(): Filter {
    let operandDue = true;
    for (;;) {
      const token = this.#lexer.next();
      if (operandDue) {
        operandDue = this.#operand(token);
      } else if (token.kind === 'end') {
        return this.#finish();
      } else {
        operandDue = this.#operator(token);
      }
    }
  }

  /** Takes a token where an operand is expected; returns whether one is still expected. */
  #operand(token: Token): boolean {
    switch (token.kind) {
      case 'open':
        this.#outer.push(this.#level);
        this.#level = newLevel();
        return true;
      case 'literal':
        this.#level.conjuncts.push({ kind: 'literal', value: token.value });
        return false;
      case 'word':
        return this.#wordOperand(token);
      case 'close':
      case 'end':
        throw this.#lexer.error();
      default:
        return token;
    }
  }

  #wordOperand(token: Token & { kind: 'word' }): boolean {
    const level = this.#level;
    switch (token.text.toLowerCase()) {
      case 'not':
        if (level.pending !== undefined) throw this.#lexer.error();
        level.negated = !level.negated;
        return true;
      case 'true':
        level.conjuncts.push(booleanLiteral(true));
        return false;
      case 'false':
        level.conjuncts.push(booleanLiteral(false));
        return false;
      case 'null':
        level.conjuncts.push({ kind: 'null' });
        return false;
      default:
        break;
    }
    if (token.call) throw new StorageError('NotImplemented');
    level.conjuncts.push({ kind: 'property', name: this.#propertyName(token) });
    return false;
  }

  #propertyName(token: Token & { kind: 'word' }): string {
    if (!this.#declared.open && !this.#declared.types.has(token.text)) {
      throw new StorageError('InvalidInput');
    }
    return token.text;
  }

  /** Takes a token where an operator is expected; returns whether an operand is expected next. */
  #operator(token: Token): boolean {
    const level = this.#level;
    if (token.kind === 'close') {
      const outer = this.#outer.pop();
      if (outer === undefined) throw this.#lexer.error();
      this.#completeOperand();
      const value = this.#alternation(level);
      this.#level = outer;
      outer.conjuncts.push(value);
      return false;
    }
    if (token.kind !== 'word') throw this.#lexer.error();
    const word = token.text.toLowerCase();
    const comparison = comparisonOperators.get(word);
    if (comparison !== undefined) {
      this.#beginComparison(comparison);
      return true;
    }
    if (arithmeticOperators.has(word)) throw new StorageError('NotImplemented');
    if (word !== 'and' && word !== 'or') throw this.#lexer.error();
    this.#completeOperand();
    if (word === 'or') this.#endConjunction(level);
    return true;
  }

  #beginComparison(operator: ComparisonOperator): void {
    const level = this.#level;
    const left = level.conjuncts.pop();
    if (left === undefined || level.pending !== undefined) throw this.#lexer.error();
    level.pending = { left, operator };
  }

  /** Completes the last operand: no comparison operator follows it. */
  #completeOperand(): void {
    const level = this.#level;
    const { pending, conjuncts } = level;
    let operand = conjuncts.pop();
    if (operand === undefined) throw this.#lexer.error();
    if (pending !== undefined) {
      operand = this.#comparison(pending.left, pending.operator, operand);
      level.pending = undefined;
    }
    if (level.negated) {
      operand = negation(this.#condition(operand, unaryTypeError));
      level.negated = false;
    }
    conjuncts.push(operand);
  }

  #comparison(left: Operand, operator: ComparisonOperator, right: Operand): Condition {
    if (left.kind === 'null' || right.kind === 'null') throw nullComparison(operator);
    if (left.kind === 'property' && right.kind === 'literal') {
      return this.#typedComparison(left.name, operator, right.value, false);
    }
    if (left.kind === 'literal' && right.kind === 'property') {
      return this.#typedComparison(right.name, operator, left.value, true);
    }
    throw new StorageError('NotImplemented');
  }

  #typedComparison(
    property: string,
    operator: ComparisonOperator,
    literal: EdmValue,
    literalFirst: boolean,
  ): Condition {
    const declared = this.#declared.types.get(property);
    if (declared !== undefined && declared !== literal.type) {
      const types = literalFirst ? [literal.type, declared] : [declared, literal.type];
      throw binaryTypeError(types[0], types[1], operatorKinds[operator]);
    }
    const mirrored = literalFirst ? mirroredOperators[operator] : operator;
    return {
      kind: 'condition',
      filter: { kind: 'comparison', property, operator: mirrored, literal },
      depth: 1,
    };
  }

  #endConjunction(level: Level): void {
    level.alternatives.push(this.#chain('and', level.conjuncts));
    level.conjuncts = [];
  }

  /** The value of a level; a lone operand is unchanged, because parentheses do not matter. */
  #alternation(level: Level): Operand {
    this.#endConjunction(level);
    return this.#chain('or', level.alternatives);
  }

  #chain(kind: 'and' | 'or', operands: readonly Operand[]): Operand {
    const [only] = operands;
    if (operands.length === 1 && only !== undefined) return only;
    const typeKind = kind === 'and' ? 'And' : 'Or';
    const conditions = operands.map((operand, index) =>
      this.#condition(operand, (type) =>
        index === 0
          ? binaryTypeError(type, this.#typeOf(operands[1]), typeKind)
          : binaryTypeError('Edm.Boolean', type, typeKind),
      ),
    );
    return joined(kind, conditions);
  }

  /** The type of an operand, if known; an unknown property is assumed to be a condition. */
  #typeOf(operand: Operand | undefined): string {
    if (operand?.kind === 'literal') return operand.value.type;
    if (operand?.kind === 'property') {
      return this.#declared.types.get(operand.name) ?? 'Edm.Boolean';
    }
    return operand?.kind === 'null' ? 'null' : 'Edm.Boolean';
  }

  /**
   * An operand as a condition; throws the error that `refuse` makes of its type when it is not one.
   */
  #condition(operand: Operand, refuse: (type: string) => StorageError): Condition {
    const type = this.#typeOf(operand);
    if (type !== 'Edm.Boolean') throw refuse(type);
    if (operand.kind === 'condition') return operand;
    const filter: Filter =
      operand.kind === 'property'
        ? { kind: 'property', property: operand.name }
        : { kind: 'constant', value: operand.kind === 'literal' && operand.value.value === true };
    return { kind: 'condition', filter, depth: 1 };
  }

  #finish(): Filter {
    if (this.#outer.length > 0) throw this.#lexer.error();
    this.#completeOperand();
    const result = this.#condition(this.#alternation(this.#level), notBoolean);
    if (result.depth > filterDepthMax) throw new StorageError('InvalidInput');
    return result.filter;
  }
}

function booleanLiteral(value: boolean): Operand {
  return { kind: 'literal', value: { type: 'Edm.Boolean', value } };
}

function negation(operand: Condition): Condition {
  const { filter } = operand;
  return filter.kind === 'not'
    ? { kind: 'condition', filter: filter.operand, depth: operand.depth - 1 }
    : { kind: 'condition', filter: { kind: 'not', operand: filter }, depth: operand.depth + 1 };
}

/**
 * Combines conditions by `and` or `or`; nested operands of the same kind are flattened. The longest
 * list is reused, so that a chain nested to either side is built in linear time; the order of
 * operands has no meaning.
 */
function joined(kind: 'and' | 'or', conditions: readonly Condition[]): Condition {
  let operands: Filter[] = [];
  let depth = 0;
  for (const { filter, depth: inner } of conditions) {
    depth = Math.max(depth, filter.kind === kind ? inner : inner + 1);
    if (filter.kind !== kind) operands.push(filter);
    else operands = merged(operands, filter.operands);
  }
  return { kind: 'condition', filter: { kind, operands }, depth };
}

/** Concatenates two lists, in any order; may reuse either, because nothing else refers to them. */
function merged(left: Filter[], right: readonly Filter[]): Filter[] {
  const target = left.length >= right.length ? left : (right as Filter[]);
  const source = target === left ? right : left;
  for (const operand of source) target.push(operand);
  return target;
}

const mirroredOperators: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  eq: 'eq',
  ne: 'ne',
  gt: 'lt',
  ge: 'le',
  lt: 'gt',
  le: 'ge',
};

/** The names of the operators in the service's messages. */
const operatorKinds: Readonly<Record<ComparisonOperator, string>> = {
  eq: 'Equal',
  ne: 'NotEqual',
  gt: 'GreaterThan',
  ge: 'GreaterThanOrEqual',
  lt: 'LessThan',
  le: 'LessThanOrEqual',
};

function invalidInput(message: string): StorageError {
  return new StorageError('InvalidInput', { message });
}

function binaryTypeError(left: string | undefined, right: string | undefined, operator: string) {
  return invalidInput(
    `A binary operator with incompatible types was detected. Found operand types '${left}' and '${right}' for operator kind '${operator}'.`,
  );
}

function unaryTypeError(type: string): StorageError {
  return invalidInput(
    `A unary operator with an incompatible type was detected. Found operand type '${type}' for operator kind 'Not'.`,
  );
}

function notBoolean(): StorageError {
  return invalidInput('The $filter expression must evaluate to a single boolean value.');
}

function nullComparison(operator: ComparisonOperator): StorageError {
  if (operator === 'eq' || operator === 'ne') return new StorageError('InvalidInput');
  return invalidInput(
    `The operator '${operatorKinds[operator]}' is not supported for the 'null' literal; only equality checks are supported.`,
  );
}
