import manifest from '../../package.json' with { type: 'json' };

/** The version of this package. The build puts it into the bundle. */
export const VERSION: string = manifest.version;
