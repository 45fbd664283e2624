/** Made by scripts/wire-table.mjs when the page is built. */
declare module "*/wire-table.json" {
  const table: readonly import("./wire-table.ts").WireMethod[];
  export default table;
}
