// Packages from the folder that the environment names: they are installed elsewhere than this file.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.env.PACKAGES);

export const load = async name => {
    const loaded = await import(pathToFileURL(require.resolve(name)));
    return loaded.default ?? loaded;
};

/** A module of a package that exports to `import` alone, which `resolve` does not find. */
export const loadFile = path => import(pathToFileURL(join(process.env.PACKAGES, path)));
