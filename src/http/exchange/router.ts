/** The fields of a route that a router uses. */
export interface Routable<Request> {
  readonly methods: readonly string[];
  /** Matches every address. Absent: the route has an address. */
  readonly everywhere?: true;
  /** A further condition. Absent: none. A method, so that any request type fits. */
  when?(request: Request): boolean;
}

/**
 * Finds the route of a request by address and method: an operation of a storage service, a path of
 * the control API, an endpoint of the server itself.
 */
export class Router<Request extends { readonly method: string }, Route extends Routable<Request>> {
  /** In the order in which they are tried. */
  readonly routes: readonly Route[];
  readonly #isAddressed: (route: Route, request: Request) => boolean;

  constructor(routes: readonly Route[], isAddressed: (route: Route, request: Request) => boolean) {
    this.routes = routes;
    this.#isAddressed = isAddressed;
  }

  /** The first matching route; undefined when there is none. */
  find(request: Request): Route | undefined {
    for (const route of this.routes) {
      if (!route.methods.includes(request.method)) continue;
      if (route.everywhere !== true && !this.#isAddressed(route, request)) continue;
      if (route.when === undefined || route.when(request)) return route;
    }
    return undefined;
  }

  /** The methods of the addressed resource, each once; empty when there is none. */
  methodsOf(request: Request): string[] {
    const there = this.routes.filter(
      (route) => route.everywhere !== true && this.#isAddressed(route, request),
    );
    return [...new Set(there.flatMap(({ methods }) => methods))];
  }
}
