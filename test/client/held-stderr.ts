// Runs a command on a stdio server whose stderr a process outside its group keeps open. closing.test.ts starts it as a
// separate program, which must end on its own.
import { connect } from "../../src/client/host/connect.ts";

const [cli = ""] = process.argv.slice(2);

async function main(): Promise<void> {
  let found = (_pid: string): void => {};
  const grandchild = new Promise<string>((resolve) => {
    found = resolve;
  });
  const logger = {
    debug: () => {},
    info: () => {},
    warn: (line: string) => {
      if (line.startsWith("grandchild ")) found(line.slice("grandchild ".length));
    },
    error: () => {},
  };
  const script =
    'setsid sh -c \'echo "grandchild $$" >&2; exec sleep 300 </dev/null >/dev/null\' & exec "$0" "$@"';
  const host = await connect(
    { command: ["/bin/sh", "-c", script, process.execPath, cli, "--listen", "stdio"] },
    { logger },
  );
  const { stdout } = await host.run(["/bin/echo", "ran"]);
  const pid = await grandchild;
  await host.close();
  process.stdout.write(`${pid} ${stdout}`);
}

void main();
