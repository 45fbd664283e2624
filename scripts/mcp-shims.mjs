// What the library of the Model Context Protocol finds in its package for Node, without ajv, which would be a third of
// the bundle. It checks answers of users against the schema of their question, and ours ask for nothing but a decision.
export { default as process } from "node:process";

export class DefaultJsonSchemaValidator {
  getValidator() {
    return (data) => ({ valid: true, data, errorMessage: undefined });
  }
}
