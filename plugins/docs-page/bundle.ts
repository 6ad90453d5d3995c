/** Loads the program and the style of the page, whose sources are in `page/`. */
import { readFile } from 'node:fs/promises'

export interface Bundle { readonly script: Uint8Array, readonly style: Uint8Array }

/** Whether this is the package, which contains the bundle; the repository has only the sources. */
const IS_BUILT = !import.meta.url.endsWith('.ts')

/**
 * Returns a function that returns the bundle. In the package the bundle is read at once, so that a missing file stops the start. In the repository, esbuild,
 * which the package does not have, creates it on the first request.
 */
export async function loadBundle (): Promise<() => Promise<Bundle>> {
  if (!IS_BUILT) return bundleOnce
  const read = async (name: string): Promise<Uint8Array> => await readFile(new URL(`../../page/${name}`, import.meta.url))
  const [script, style] = await Promise.all([read('main.js'), read('main.css')])
  return async () => ({ script, style })
}

let made: Promise<Bundle> | undefined

async function bundleOnce (): Promise<Bundle> {
  // not a literal, because the compiler would include build/ in the package
  const { bundlePage } = await import(new URL('../../build/bundle-page.ts', import.meta.url).href) as { bundlePage: () => Promise<Bundle> }
  return await (made ??= bundlePage())
}
