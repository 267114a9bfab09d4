/** Steps of planning one query: well within the time that one request may keep others waiting. */
export const planningStepsMax = 100_000;

/** What is left of the work that planning one query may take. A step looks at one interval. */
export class PlanningSteps {
  #left: number;

  constructor(stepsMax = planningStepsMax) {
    this.#left = stepsMax;
  }

  /** Takes so many steps; says whether there were that many. */
  take(steps: number): boolean {
    this.#left -= steps;
    return this.#left >= 0;
  }
}
