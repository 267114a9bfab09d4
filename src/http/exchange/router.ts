/** What a router knows of a route. */
export interface Routable<Request> {
  readonly methods: readonly string[];
  /** It is at every address, and none of what is at one. Absent: it has an address. */
  readonly everywhere?: true;
  /** What else a request must show. Absent: nothing. A method, so that any request fits. */
  when?(request: Request): boolean;
}

/**
 * Finds the route of a request by what it addresses and by its method: an operation of a storage
 * service, a path of the control API, an endpoint of the server itself.
 */
export class Router<Request extends { readonly method: string }, Route extends Routable<Request>> {
  /** In the order in which they are tried. */
  readonly routes: readonly Route[];
  readonly #isAddressed: (route: Route, request: Request) => boolean;

  constructor(routes: readonly Route[], isAddressed: (route: Route, request: Request) => boolean) {
    this.routes = routes;
    this.#isAddressed = isAddressed;
  }

  /** The first route that fits a request; undefined when none does. */
  find(request: Request): Route | undefined {
    for (const route of this.routes) {
      if (!route.methods.includes(request.method)) continue;
      if (route.everywhere !== true && !this.#isAddressed(route, request)) continue;
      if (route.when === undefined || route.when(request)) return route;
    }
    return undefined;
  }

  /** The methods that what a request addresses has, each once; none where nothing is. */
  methodsOf(request: Request): string[] {
    const there = this.routes.filter(
      (route) => route.everywhere !== true && this.#isAddressed(route, request),
    );
    return [...new Set(there.flatMap(({ methods }) => methods))];
  }
}
