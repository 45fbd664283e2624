/** Styles that esbuild collects. */
declare module "*.css";
