import { OutputView } from "../output/output-view.tsx";
import type { ViewProps } from "../frame/view.ts";
import { ListView } from "./list-view.tsx";
import { addressAt } from "../processes/process-address.ts";

/** All processes, or the output of the one that the path names. */
export default function ProcessesView({ path }: ViewProps) {
  const address = addressAt(path);
  return address === undefined ? <ListView /> : <OutputView key={path} address={address} />;
}
