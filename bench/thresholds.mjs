// What `--assert` demands: the median over the rounds of how many times better ours is than the peer.
export const THRESHOLDS = [
  { case: "spawn-rate", metric: "processes/s", minRatio: 4 },
  { case: "output", metric: "MB/s", minRatio: 1.5 },
];
