/** Writes to stdout. Resolves when the system has taken everything, and rejects with its error. */
export function writeOut(data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    const stdout = withoutCrash(process.stdout);
    stdout.write(data, (error) => (error ? reject(error) : resolve()));
  });
}

/** Writes to stderr. Nobody has to read it. */
export function writeErr(text: string): void {
  withoutCrash(process.stderr).write(text);
}

/** An error of a stream that nobody listens to would end the program; each write reports its own. */
function withoutCrash(stream: NodeJS.WriteStream): NodeJS.WriteStream {
  if (stream.listenerCount("error") === 0) stream.on("error", () => {});
  return stream;
}
