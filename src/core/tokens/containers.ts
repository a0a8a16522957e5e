/** Lower-cases a container: tokens, rules and conditions are compared in lower case (decisions §5). */
export function normalizeContainer(container: string): string {
  return container.toLowerCase();
}

/** In the order sent, without duplicates. */
export function normalizeContainers(containers: readonly string[]): readonly string[] {
  return [...new Set(containers.map(normalizeContainer))];
}

/**
 * Returns every container that contains one of these, and the containers themselves, without the root: `/pci/high/`
 * gives `/pci/` and `/pci/high/`. A rule matches a token exactly when its container is among the token's prefixes, or
 * is the root.
 */
export function containerPrefixes(containers: readonly string[]): readonly string[] {
  const prefixes = new Set<string>();
  for (const container of containers) {
    for (let end = container.indexOf('/', 1); end !== -1; end = container.indexOf('/', end + 1)) {
      prefixes.add(container.slice(0, end + 1));
    }
  }
  return [...prefixes];
}

/** Both are normalized. They end with a slash, so `/pci/` is not above `/pci-dev/`. */
export function isAtOrBelow(container: string, ruleContainer: string): boolean {
  return container.startsWith(ruleContainer);
}
