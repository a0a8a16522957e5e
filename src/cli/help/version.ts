import manifest from '../../../package.json' with { type: 'json' };

/** The version of this package; the build inserts it. */
export const VERSION: string = manifest.version;
