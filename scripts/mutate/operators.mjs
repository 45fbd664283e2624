// The mutations that `npm run mutate` may make. They are fixed here, before anything is drawn.
import { parseSync } from "vite";

/**
 * One change of one file.
 * @typedef {object} Mutant
 * @property {string} file relative to the project
 * @property {string} within the function or method that it is in
 * @property {string} operator
 * @property {number} start
 * @property {number} end
 * @property {string} from the text that is replaced
 * @property {string} to
 * @property {string} runsIn the function, or the file, with which it runs
 */

/** @typedef {{ key: string, body: { type: string, start: number, end: number } }} FunctionPlace */

/** Each gets a node and its parent, and returns replacements: `[node, text]` or `[{ start, end }, text]`. */
const OPERATORS = {
  /** The other branch is taken. */
  "negate-condition": (node, { text }) => {
    if (!["IfStatement", "ConditionalExpression", "WhileStatement"].includes(node.type)) return [];
    const { test } = node;
    if (test.type === "Literal") return [];
    return [
      [
        test,
        test.type === "UnaryExpression" && test.operator === "!" ? text(test.argument) : `!(${text(test)})`,
      ],
    ];
  },
  /** What leaves early does not. */
  "drop-guard": (node) =>
    node.type === "IfStatement" && node.alternate === null && leaves(node.consequent) ? [[node, "{}"]] : [],
  "swap-logic": (node, { text }) =>
    node.type === "LogicalExpression" && node.operator !== "??"
      ? [[node, `(${text(node.left)} ${node.operator === "&&" ? "||" : "&&"} ${text(node.right)})`]]
      : [],
  "move-boundary": (node, { text }) =>
    swapOperator(node, text, { "<": "<=", "<=": "<", ">": ">=", ">=": ">" }),
  "swap-equality": (node, { text, parent }) =>
    // Of a whole condition it would be the same as its negation.
    parent.test === node ? [] : swapOperator(node, text, { "===": "!==", "!==": "===" }),
  "swap-arithmetic": (node, { text }) => {
    if (node.type === "BinaryExpression" && [node.left, node.right].some(isText)) return [];
    return [
      ...swapOperator(node, text, { "+": "-", "-": "+", "*": "/", "/": "*", "%": "*" }),
      ...(node.type === "AssignmentExpression" && !isText(node.right)
        ? swapOperator(node, text, { "+=": "-=", "-=": "+=" })
        : []),
    ];
  },
  /** Cleaning up, releasing, telling others. */
  "drop-call": (node) =>
    node.type === "ExpressionStatement" && isCall(node.expression) ? [[node, ";"]] : [],
  "drop-await": (node, { text }) =>
    node.type === "ExpressionStatement" && node.expression.type === "AwaitExpression"
      ? [[node, `void ${text(node.expression.argument)};`]]
      : [],
  /** State that is not kept up to date. */
  "drop-assignment": (node) =>
    node.type === "ExpressionStatement" &&
    node.expression.type === "AssignmentExpression" &&
    node.expression.left.type === "MemberExpression"
      ? [[node, ";"]]
      : [],
  "flip-boolean": (node, { parent }) =>
    node.type === "Literal" && typeof node.value === "boolean" && parent.type !== "TSLiteralType"
      ? [[node, String(!node.value)]]
      : [],
  "return-nothing": (node) =>
    node.type === "ReturnStatement" && node.argument !== null && !isConstant(node.argument)
      ? [[node.argument, "undefined as never"]]
      : [],
  "off-by-one": (node, { parent }) =>
    node.type === "Literal" && Number.isInteger(node.value) && parent.type !== "TSLiteralType"
      ? [[node, String(node.value + 1)]]
      : [],
  "swap-min-max": (node) =>
    node.type === "MemberExpression" &&
    node.object.name === "Math" &&
    ["min", "max"].includes(node.property.name)
      ? [[node.property, node.property.name === "min" ? "max" : "min"]]
      : [],
  "empty-finally": (node) =>
    node.type === "TryStatement" && node.finalizer !== null ? [[node.finalizer, "{}"]] : [],
  "empty-catch": (node) =>
    node.type === "CatchClause" && node.body.body.length > 0 ? [[node.body, "{}"]] : [],
  /** An option that is not passed on. */
  "drop-property": (node, { parent, source }) => {
    if (node.type !== "ObjectExpression" || !["CallExpression", "NewExpression"].includes(parent.type))
      return [];
    return node.properties
      .filter((property) => property.type === "SpreadElement" || !UNSEEN_PROPERTIES.has(property.key.name))
      .map((property) => [withComma(property, source), ""]);
  },
  "drop-fallback": (node, { text }) => {
    if (node.type === "LogicalExpression" && node.operator === "??") return [[node, `${text(node.left)}!`]];
    return node.type === "AssignmentExpression" && node.operator === "??="
      ? [[node, `${text(node.left)} = ${text(node.right)}`]]
      : [];
  },
};

/** Words for people, and what only a debugger shows. */
const UNSEEN_PROPERTIES = new Set(["message", "doc", "cause", "description"]);
const LOG_METHODS = new Set(["debug", "info", "warn", "error"]);

/**
 * Every mutation of a file, and every function, of which coverage is recorded.
 * @param {string} file
 * @param {string} source
 * @returns {{ mutants: Mutant[], functions: FunctionPlace[] }}
 */
export function analyse(file, source) {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0].message}`);
  const text = (part) => source.slice(part.start, part.end);
  const unique = counter();
  const mutants = [];
  const functions = [];
  visit(program, { parent: program, names: [], runsIn: file });
  return { mutants, functions };

  function visit(node, { parent, names, runsIn }) {
    if (isUnseen(node)) return;
    const name = nameOf(node, parent);
    const inside = name === undefined ? names : [...names, name];
    const within = inside.join(".");
    const isFunction = FUNCTIONS.has(node.type) && node.body !== null;
    const runs = isFunction ? unique(`${file} ${within}`) : runsIn;
    if (isFunction) functions.push({ key: runs, body: node.body });
    for (const [operator, mutate] of Object.entries(OPERATORS))
      for (const [{ start, end }, to] of mutate(node, { parent, text, source }))
        mutants.push({
          file,
          within,
          operator,
          start,
          end,
          from: source.slice(start, end),
          to,
          runsIn: runs,
        });
    for (const child of isTuning(node) ? functionsIn(node) : childrenOf(node))
      visit(child, { parent: node, names: inside, runsIn: runs });
  }
}

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

/** Distinguishes equal names. */
export function counter() {
  const seen = new Map();
  return (name) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return count === 1 ? name : `${name} #${count}`;
  };
}

/** Whether no behaviour shows a change of it: types, texts of errors and of the log. */
function isUnseen(node) {
  if (node.type.startsWith("TS") && !/^TS(As|NonNull|Satisfies|Instantiation)/.test(node.type)) return true;
  if (node.type === "ThrowStatement" || node.type === "ImportDeclaration" || node.type === "TemplateLiteral")
    return true;
  if (node.type === "NewExpression") return node.callee.name?.endsWith("Error") === true;
  if (node.type !== "CallExpression") return false;
  const { object, property } = node.callee;
  return LOG_METHODS.has(property?.name) && /log(ger)?$/i.test(object.property?.name ?? object.name ?? "");
}

/** Values that may change without anybody's notice. What is promised of them is in test/pins. */
function isTuning({ type, id }) {
  return type === "VariableDeclarator" && /^[A-Z][A-Z0-9_]+$/.test(id.name ?? "");
}

/** The outermost functions below a node. */
function functionsIn(node) {
  return childrenOf(node).flatMap((child) => (FUNCTIONS.has(child.type) ? [child] : functionsIn(child)));
}

function leaves(statement) {
  const last = statement.type === "BlockStatement" ? statement.body.at(-1) : statement;
  return ["ReturnStatement", "ThrowStatement", "ContinueStatement", "BreakStatement"].includes(last?.type);
}

function isCall(expression) {
  if (expression.type === "CallExpression") return expression.callee.type !== "Super";
  if (expression.type === "ChainExpression") return isCall(expression.expression);
  const isWrapped = expression.type === "AwaitExpression" || expression.operator === "void";
  return isWrapped && isCall(expression.argument);
}

function isText(node) {
  if (node.type === "TemplateLiteral" || typeof node.value === "string") return true;
  return node.type === "BinaryExpression" && [node.left, node.right].some(isText);
}

function isConstant({ type, name }) {
  return type === "Literal" || name === "undefined";
}

function swapOperator(node, text, operators) {
  const other = operators[node.operator];
  if (other === undefined || node.left === undefined) return [];
  return [[node, `${text(node.left)} ${other} ${text(node.right)}`]];
}

function withComma({ start, end }, source) {
  const comma = /^\s*,/.exec(source.slice(end));
  return { start, end: end + (comma?.[0].length ?? 0) };
}

function nameOf(node, parent) {
  if (node.type === "ClassDeclaration" || node.type === "FunctionDeclaration") return node.id?.name;
  if (node.type === "MethodDefinition" || node.type === "PropertyDefinition")
    return node.key.type === "PrivateIdentifier" ? `#${node.key.name}` : node.key.name;
  if (node.type === "VariableDeclarator") return node.id.name;
  if (node.type === "Property" && parent.type === "ObjectExpression") return node.key.name ?? node.key.value;
  return undefined;
}

function childrenOf(node) {
  return Object.values(node)
    .flat()
    .filter((value) => typeof value?.type === "string" && typeof value.start === "number");
}
