/** The budget of planning one query: much less time than one request may block others. */
export const planningStepsMax = 100_000;

/** The remaining budget of planning one query. A step visits one interval. */
export class PlanningSteps {
  #left: number;

  constructor(stepsMax = planningStepsMax) {
    this.#left = stepsMax;
  }

  /** Takes steps from the budget; false when they do not suffice. */
  take(steps: number): boolean {
    this.#left -= steps;
    return this.#left >= 0;
  }
}
