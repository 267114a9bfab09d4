import * as ast from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';

/** A deliberate change: a replacement for part of a source file. Offsets are UTF-16 code units. */
export interface Change {
  readonly operator: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A replacement for a node, or for the range from one node to another. */
interface Break {
  readonly from: ast.Node;
  readonly to?: ast.Node;
  readonly text: string;
}

/**
 * Yields the changes that an operator makes to a node; `textOf` returns the text of a node without
 * comments.
 */
type Operator = (node: ast.Node, textOf: (node: ast.Node) => string) => readonly Break[];

/** Pairs of words: the original and its replacement. */
function others(pairs: string): ReadonlyMap<string, string> {
  return new Map(
    pairs.split(', ').map((pair) => {
      const [from = '', to = ''] = pair.split(' ');
      return [from, to] as const;
    }),
  );
}

const boundaries = others('< <=, <= <, > >=, >= >');
const equalities = others('=== !==, !== ===');
const connectives = others('&& ||, || &&');
const calculations = others(
  '+ -, - +, * /, / *, % *, += -=, -= +=, << >>, >> <<, >>> <<, & |, | &',
);
const methods = others(
  'some every, every some, min max, max min, floor ceil, ceil floor, ' +
    'startsWith endsWith, endsWith startsWith, toLowerCase toString, toUpperCase toString',
);

/** A text with this many words is a sentence. */
const proseWordsMin = 4;

const operators: Readonly<Record<string, Operator>> = {
  boundary: betweenOperands(boundaries),
  equality: betweenOperands(equalities),
  logic: betweenOperands(connectives),
  arithmetic: betweenOperands(calculations),
  condition: (node, textOf) => {
    const condition = conditionOf(node);
    if (condition === undefined || isNegatedElsewhere(condition, textOf)) return [];
    return [{ from: condition, text: `!(${textOf(condition)})` }];
  },
  negation: (node, textOf) =>
    is.isPrefixUnaryExpression(node) && /^(!|-(?!-))/.test(textOf(node))
      ? [{ from: node, text: textOf(node.operand) }]
      : [],
  step: (node, textOf) => {
    if (!is.isPrefixUnaryExpression(node) && !is.isPostfixUnaryExpression(node)) return [];
    const other = textOf(node).replace(/^\+\+|\+\+$|^--|--$/, (step) =>
      step === '++' ? '--' : '++',
    );
    return other === textOf(node) ? [] : [{ from: node, text: other }];
  },
  fallback: (node, textOf) =>
    is.isBinaryExpression(node) && textOf(node.operatorToken) === '??'
      ? [{ from: node, text: textOf(node.right) }]
      : [],
  boolean: (node, textOf) =>
    is.isTrueLiteral(node) || is.isFalseLiteral(node)
      ? [{ from: node, text: textOf(node) === 'true' ? 'false' : 'true' }]
      : [],
  number: (node, textOf) => {
    if (!is.isNumericLiteral(node) && !is.isBigIntLiteral(node)) return [];
    const one = is.isBigIntLiteral(node) ? '1n' : '1';
    return isName(node) ? [] : [{ from: node, text: `(${textOf(node)} + ${one})` }];
  },
  string: (node, textOf) => {
    if (!is.isStringLiteral(node) && !is.isNoSubstitutionTemplateLiteral(node)) return [];
    const whole = textOf(node);
    if (isName(node) || isProse(whole)) return [];
    return [{ from: node, text: `${whole.slice(0, -1)}~${whole.slice(-1)}` }];
  },
  template: (node, textOf) => {
    if (!is.isTemplateHead(node) && !is.isTemplateMiddle(node) && !is.isTemplateTail(node)) {
      return [];
    }
    const whole = textOf(node);
    const emptied = whole.replace(/^([`}])[^]+?(`|\$\{)$/, '$1$2');
    return emptied === whole || isProse(whole) ? [] : [{ from: node, text: emptied }];
  },
  pattern: (node, textOf) => {
    if (!is.isRegularExpressionLiteral(node)) return [];
    const whole = textOf(node);
    return [whole.replace('/^', '/'), whole.replace(/\$\/(\w*)$/, '/$1'), whole.replace(/i$/, '')]
      .filter((other) => other !== whole && !other.startsWith('//'))
      .map((text) => ({ from: node, text }));
  },
  statement: (node) =>
    is.isExpressionStatement(node) ||
    is.isThrowStatement(node) ||
    is.isBreakStatement(node) ||
    is.isContinueStatement(node)
      ? [{ from: node, text: ';' }]
      : [],
  result: (node, textOf) => {
    const returned = returnedBy(node, textOf);
    if (returned === undefined) return [];
    const { result, type } = returned;
    const found: Break[] = [];
    if (/\bundefined\b/.test(type) && textOf(result) !== 'undefined') {
      found.push({ from: result, text: 'undefined' });
    }
    if (/\bboolean\b|\bis\b/.test(type) && !isNegatedElsewhere(result, textOf)) {
      found.push({ from: result, text: `!(${textOf(result)})` });
    }
    return found;
  },
  await: (node, textOf) =>
    is.isAwaitExpression(node) ? [{ from: node, text: textOf(node.expression) }] : [],
  arguments: (node, textOf) => {
    if (!is.isCallExpression(node) && !is.isNewExpression(node)) return [];
    const [first, second] = node.arguments ?? [];
    if (first === undefined || second === undefined) return [];
    if (isOfOneUse(first) || isOfOneUse(second) || textOf(first) === textOf(second)) return [];
    return [{ from: first, to: second, text: `${textOf(second)}, ${textOf(first)}` }];
  },
  method: (node, textOf) => {
    if (!is.isPropertyAccessExpression(node) || !is.isCallExpression(node.parent)) return [];
    const other = methods.get(textOf(node.name));
    return other === undefined ? [] : [{ from: node.name, text: other }];
  },
};

/** All useful changes to a file. The compiler rejects some of them. */
export function changesOf(file: ast.SourceFile): readonly Change[] {
  const found: Change[] = [];
  const textOf = (node: ast.Node) => file.text.slice(node.getStart(file), node.end);
  const visit = (node: ast.Node): void => {
    if (isLeftAlone(node, textOf)) return;
    for (const [operator, breaksOf] of Object.entries(operators)) {
      for (const { from, to = from, text } of breaksOf(node, textOf)) {
        found.push({ operator, start: from.getStart(file), end: to.end, text });
      }
    }
    node.forEachChild(visit);
  };
  visit(file);
  return found;
}

/** Types, imports and invariants: changing these does not change behaviour. */
function isLeftAlone(node: ast.Node, textOf: (node: ast.Node) => string): boolean {
  if (is.isImportDeclaration(node) || is.isExportDeclaration(node)) return true;
  if (is.isInterfaceDeclaration(node) || is.isTypeAliasDeclaration(node)) return true;
  if (is.isExpressionStatement(node)) return isLeftAlone(node.expression, textOf);
  if (is.isCallExpression(node)) return textOf(node.expression) === 'invariant';
  return ast.isTypeNode(node);
}

function betweenOperands(tokens: ReadonlyMap<string, string>): Operator {
  return (node, textOf) => {
    if (!is.isBinaryExpression(node)) return [];
    const other = tokens.get(textOf(node.operatorToken));
    return other === undefined ? [] : [{ from: node.operatorToken, text: other }];
  };
}

function conditionOf(node: ast.Node): ast.Node | undefined {
  if (is.isIfStatement(node) || is.isWhileStatement(node)) return node.expression;
  return is.isConditionalExpression(node) ? node.condition : undefined;
}

/** Another operator covers the negation of an equality or a negation. */
function isNegatedElsewhere(node: ast.Node, textOf: (node: ast.Node) => string): boolean {
  if (is.isBinaryExpression(node)) {
    return equalities.has(textOf(node.operatorToken));
  }
  return /^(!|true$|false$)/.test(textOf(node));
}

/** A property name is part of a type, so the compiler would reject a change. */
function isName(node: ast.Node): boolean {
  return 'name' in node.parent && node.parent.name === node;
}

/** Sentences for people: a test that fixes their exact text protects nothing. */
function isProse(text: string): boolean {
  return text.split(' ').length >= proseWordsMin;
}

/** An argument that can hardly be swapped with another, because of its kind. */
function isOfOneUse(node: ast.Node): boolean {
  return is.isStringLiteral(node) || is.isObjectLiteralExpression(node) || is.isArrowFunction(node);
}

/** The returned expression, and the declared return type. */
function returnedBy(
  node: ast.Node,
  textOf: (node: ast.Node) => string,
): { readonly result: ast.Node; readonly type: string } | undefined {
  if (is.isArrowFunction(node) && !is.isBlock(node.body)) {
    return { result: node.body, type: typeOf(node, textOf) };
  }
  if (!is.isReturnStatement(node) || node.expression === undefined) return undefined;
  let around: ast.Node = node.parent;
  while (!is.isFunctionLikeDeclaration(around) && !is.isSourceFile(around)) around = around.parent;
  return { result: node.expression, type: typeOf(around, textOf) };
}

function typeOf(node: ast.Node, textOf: (node: ast.Node) => string): string {
  const type = 'type' in node ? (node.type as ast.Node | undefined) : undefined;
  return type === undefined ? '' : textOf(type);
}
