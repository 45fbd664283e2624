/**
 * Runs one case on every target, round by round in turn, on servers started for this case.
 * Returns, per target name, one `{metric: value}` per round.
 */
export async function runCase(benchCase, targets, { rounds, quick, report }) {
  const open = [];
  const samples = Object.fromEntries(targets.map(({ name }) => [name, []]));
  try {
    for (const target of targets) open.push({ name: target.name, server: await target.open() });
    for (const { name, server } of open) {
      report(`${benchCase.name}: warming up ${name}`);
      await named(`${benchCase.name}, warm-up of ${name}`, benchCase.warmUp(server.url));
    }
    for (let round = 1; round <= rounds; round++) {
      for (const { name, server } of open) {
        const values = await named(`${benchCase.name} on ${name}`, benchCase.run(server.url, { quick }));
        samples[name].push(values);
        report(`${benchCase.name}: round ${round}/${rounds} ${name.padEnd(6)} ${line(values)}`);
      }
    }
  } finally {
    await Promise.all(open.map(({ server }) => server.stop()));
  }
  return samples;
}

async function named(what, work) {
  try {
    return await work;
  } catch (error) {
    throw new Error(`${what}: ${error.message}`, { cause: error });
  }
}

const line = (values) =>
  Object.entries(values)
    .map(([metric, value]) => `${metric} ${number(value)}`)
    .join(", ");

export function number(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
