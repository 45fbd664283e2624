import { useSignal } from "@preact/signals";
import type { Result } from "../../client/browser.ts";
import { useHost } from "../connection/use-host.ts";
import { formatBytes, formatSpan } from "../ui/format.ts";
import { Failure } from "./failure.tsx";
import { usePolled } from "../ui/use-polled.ts";

const EVERY_MS = 2000;
/** From this share on it is worth a look. */
const NEAR = 0.8;

type Limit = Result<"server/limits">["limits"][number];

/** What the server allows, and how much of it is used. */
export function LimitTable() {
  const host = useHost();
  const filter = useSignal("");
  const polled = usePolled((signal) => host.request("server/limits", null, { signal }), {
    everyMs: EVERY_MS,
    deps: [host],
  });
  const { value, error } = polled.value;
  if (value === undefined) return error === undefined ? null : <Failure error={error} />;
  const wanted = filter.value.toLowerCase();
  const shown = value.limits.filter(({ key, doc }) => `${key} ${doc}`.toLowerCase().includes(wanted));
  return (
    <>
      <div class="system-filter">
        <input
          type="search"
          aria-label="Filter limits"
          placeholder="Filter"
          value={filter.value}
          onInput={(event) => {
            filter.value = event.currentTarget.value;
          }}
        />
      </div>
      <table class="system-table">
        <thead>
          <tr>
            <th>Limit</th>
            <th class="right">Value</th>
            <th>Used</th>
            <th>What it limits</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((limit) => (
            <tr key={limit.key}>
              <td class="code">{limit.key}</td>
              <td class="right number">{format(limit, limit.value)}</td>
              <td>{limit.used === undefined ? null : <Use limit={limit} used={limit.used} />}</td>
              <td class="system-doc">{limit.doc}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Use({ limit, used }: { readonly limit: Limit; readonly used: number }) {
  const share = used / Math.max(1, limit.value);
  return (
    <span class="system-use">
      <meter aria-label={`Used of ${limit.key}`} min={0} max={1} high={NEAR} value={share} />
      <span class="number">{format(limit, used)}</span>
    </span>
  );
}

function format({ unit }: Limit, value: number): string {
  if (unit === "bytes") return formatBytes(value);
  return unit === "ms" ? formatTime(value) : value.toLocaleString("en");
}

function formatTime(ms: number): string {
  return ms < 1000 ? `${ms} ms` : formatSpan(ms);
}
