/** Styles of a view, which scripts/build-console.mjs puts beside its code. */
declare module "*.css" {
  const styles: CSSStyleSheet;
  export default styles;
}
