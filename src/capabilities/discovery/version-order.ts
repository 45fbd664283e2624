const SEMANTIC =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;
const NUMBER = /^\d+$/;

/** Compares two version names: as semantic versions if both are, otherwise as text. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [SEMANTIC.exec(left), SEMANTIC.exec(right)];
  if (a === null || b === null) return compareText(left, right);
  return (
    compareParts(a.slice(1, 4), b.slice(1, 4)) ||
    comparePreRelease(a[4], b[4]) ||
    compareParts(a[5]?.split(".") ?? [], b[5]?.split(".") ?? [])
  );
}

/** A release comes after its pre-releases. */
function comparePreRelease(left: string | undefined, right: string | undefined): number {
  if (left === undefined || right === undefined)
    return Number(left === undefined) - Number(right === undefined);
  return compareParts(left.split("."), right.split("."));
}

function compareParts(left: readonly (string | undefined)[], right: readonly (string | undefined)[]): number {
  for (const [index, part] of left.entries()) {
    const order = comparePart(part ?? "", right[index]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** Numbers sort before words, and a missing part sorts first. */
function comparePart(left: string, right: string | undefined): number {
  if (right === undefined) return 1;
  const [a, b] = [NUMBER.test(left), NUMBER.test(right)];
  if (a && b) return left.length - right.length || compareText(left, right);
  return a === b ? compareText(left, right) : Number(b) - Number(a);
}

function compareText(left: string, right: string): number {
  return left === right ? 0 : left < right ? -1 : 1;
}
