/** Parses the text format of Prometheus. */

export interface Sample { readonly name: string, readonly labels: Record<string, string>, readonly value: number }

export function parseMetrics (text: string): Sample[] {
  return Array.from(text.matchAll(
    /^([a-z_]+)(?:\{(.*)\})? (\S+)$/gm
  ), ([, name = '', labels = '', value = '']): Sample => ({
    name,
    labels: Object.fromEntries(Array.from(labels.matchAll(/(\w+)="([^"]*)"/g), ([, label, text]) => [label, text])),
    value: value === '+Inf' ? Infinity : Number(value)
  }))
}

/** Returns the value of the only sample that has at least these labels; undefined if there is none. */
export function valueOf (samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number
  | undefined {
  const found = samples.filter(
    (sample) => sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
  )
  if (found.length > 1) {
    throw new Error(`${name} ${JSON.stringify(labels)} stands for several: ${JSON.stringify(found)}`)
  }
  return found[0]?.value
}
