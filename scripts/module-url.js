import { pathToFileURL } from 'node:url';

/** Where a file of the bundle lies: what `import.meta.url` is to a module. */
export const moduleUrl = pathToFileURL(__filename).href;
