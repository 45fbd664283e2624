/** Ends the program although stdin may still be open. Everything written must have been flushed. */
export async function endWith(status: number): Promise<never> {
  process.exit(status);
}
