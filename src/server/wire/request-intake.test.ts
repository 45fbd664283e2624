import { expect, it } from "vitest";
import { RequestIntake } from "./request-intake.ts";

function create() {
  const calls: string[] = [];
  const reader = { pause: () => void calls.push("pause"), resume: () => void calls.push("resume") };
  const limits = { maxUnansweredRequests: 4, maxBufferedBytesPerConnection: 200 };
  return { intake: new RequestIntake(limits, reader), calls };
}

it("stops reading at so many unanswered requests, until half of them are answered", () => {
  const { intake, calls } = create();
  for (let count = 0; count < 6; count += 1) {
    intake.came(1);
    intake.done(1);
  }
  expect(calls).toEqual(["pause"]);
  for (let count = 0; count < 3; count += 1) intake.answered();
  expect(calls).toEqual(["pause"]);
  intake.answered();
  expect([calls, intake.isPaused]).toEqual([["pause", "resume"], false]);
});

it("stops reading at so many bytes of requests that have not had their turn", () => {
  const { intake, calls } = create();
  intake.came(60);
  expect(intake.isPaused).toBe(false);
  intake.came(60);
  expect(intake.isPaused).toBe(true);
  intake.done(60);
  expect(intake.isPaused).toBe(true);
  intake.done(60);
  expect(calls).toEqual(["pause", "resume"]);
});

it("takes one request that is larger than all that is allowed", () => {
  const { intake, calls } = create();
  intake.came(1000);
  intake.done(1000);
  intake.answered();
  expect(calls).toEqual(["pause", "resume"]);
});
