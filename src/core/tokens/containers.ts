/** Returns a container in lower case, in which tokens, rules and conditions are compared (decisions §5). */
export function normalizeContainer(container: string): string {
  return container.toLowerCase();
}

/** Returns the normalized containers in the order sent, without duplicates. */
export function normalizeContainers(containers: readonly string[]): readonly string[] {
  return [...new Set(containers.map(normalizeContainer))];
}

/**
 * Returns the containers and every container above them except the root: `/pci/high/` gives `/pci/` and `/pci/high/`. A
 * rule matches a token exactly when the rule's container is the root or among the prefixes of the token's containers.
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
