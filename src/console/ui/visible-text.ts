export { visibleText } from "../../base/visible-text.ts";
