/** The program and the style of the page, which `page/` has as sources. */
import { readFile } from 'node:fs/promises'

export interface Bundle { readonly script: Uint8Array, readonly style: Uint8Array }

/** The package has the bundle beside its other files; the repository has only the sources. */
const IS_BUILT = !import.meta.url.endsWith('.ts')

/**
 * Returns a function that returns the bundle. In the package it is read now, so that a missing file stops the start. From the sources it is made when
 * it is first asked for, by esbuild, which the package does not have.
 */
export async function loadBundle (): Promise<() => Promise<Bundle>> {
  if (!IS_BUILT) return bundleOnce
  const read = async (name: string): Promise<Uint8Array> => await readFile(new URL(`../../page/${name}`, import.meta.url))
  const [script, style] = await Promise.all([read('main.js'), read('main.css')])
  return async () => ({ script, style })
}

let made: Promise<Bundle> | undefined

async function bundleOnce (): Promise<Bundle> {
  // not a literal: the compiler would take build/ into the package
  const { bundlePage } = await import(new URL('../../build/bundle-page.ts', import.meta.url).href) as { bundlePage: () => Promise<Bundle> }
  return await (made ??= bundlePage())
}
