/** Draws the ratios as bars in an SVG, with a background that is readable on light and dark pages. */
import type { Results, Row } from './results.ts'

const WIDTH = 860
const LABELS = 190
const VALUES = 60
const BAR = 14
const STEP = 20
const HEAD = 64
const GROUP = 40
const FOOT = 56

/** Longer bars are cut, with a gap, so that an extreme value does not flatten the others. */
const LONGEST = 3

const STYLE = `
  .page { fill: #ffffff } .text { fill: #1f2328 } .faint { fill: #59636e } .rule { stroke: #818b98 }
  .bar { fill: #a9b4c0 } .own { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } .text { fill: #f0f6fc } .faint { fill: #9198a1 } .rule { stroke: #656c76 }
    .bar { fill: #4d5763 } .own { fill: #4493f8 }
  }
  text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif }
  .title { font-size: 17px; font-weight: 600 } .group { font-weight: 600 } .value, .small { font-size: 12px }
  .value { paint-order: stroke; stroke: #ffffff; stroke-width: 4px }
  @media (prefers-color-scheme: dark) { .value { stroke: #0d1117 } }`

type Bar = Row & { readonly ratio: NonNullable<Row['ratio']> }

/** `own` is the contender that the chart highlights. */
export function toChart ({ stamp, workloads }: Pick<Results, 'stamp' | 'workloads'>, own: string): string {
  const groups = workloads.map(({ workload, rows }) => ({ workload, bars: rows.filter((row): row is Bar => row.ratio !== undefined) }))
  const most = Math.min(LONGEST, Math.max(1, ...groups.flatMap(({ bars }) => bars.map(({ ratio }) => ratio.median))))
  const scale = (value: number): number => Math.min(value / most, 1) * (WIDTH - LABELS - VALUES)
  const parts: string[] = []
  let y = HEAD
  for (const { workload, bars } of groups) {
    parts.push(text(16, y + 26, workload, 'text group'))
    y += GROUP
    for (const bar of bars) {
      parts.push(drawBar(bar, y, scale, bar.name === own))
      y += STEP
    }
  }
  const one = (LABELS + scale(1)).toFixed(1)
  const height = y + FOOT
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title">
<title id="title">${escape(describe(groups, own))}</title>
<style>${STYLE}
</style>
<rect class="page" width="${WIDTH}" height="${height}" rx="6"/>
${text(16, 30, 'CPU for a request, against the better hand-written route', 'text title')}
${text(16, 50, 'shorter is cheaper; the line is the hand-written route', 'faint')}
<line class="rule" x1="${one}" y1="${HEAD}" x2="${one}" y2="${y + 8}" stroke-dasharray="3 3"/>
${parts.join('\n')}
${text(16, y + 32, `${stamp.date}, commit ${stamp.commit}, ${stamp.machine}`, 'faint small')}
${text(16, y + 48, Object.entries(stamp.versions).map(([name, version]) => `${name} ${version}`).join(', '), 'faint small')}
</svg>
`
}

function drawBar ({ name, ratio }: Bar, y: number, scale: (value: number) => number, own: boolean): string {
  const width = scale(ratio.median)
  const cut = ratio.median > LONGEST ? [`<path class="page" d="M${(LABELS + width - 24).toFixed(1)} ${y + BAR} l6 -${BAR} h5 l-6 ${BAR} z"/>`] : []
  return [
    `<text class="text" x="${LABELS - 8}" y="${y + BAR - 3}" text-anchor="end">${escape(name)}</text>`,
    `<rect class="${own ? 'own' : 'bar'}" x="${LABELS}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="2"/>`,
    ...cut,
    text(LABELS + width + 6, y + BAR - 3, ratio.median.toFixed(2), 'text value')
  ].join('\n')
}

/** The description for screen readers. */
function describe (groups: ReadonlyArray<{ workload: string, bars: readonly Bar[] }>, own: string): string {
  const ratios = groups.flatMap(({ workload, bars }) =>
    bars.filter(({ name }) => name === own).map(({ ratio }) => `${workload} ${ratio.median.toFixed(2)}`))
  return `CPU of ${own} for a request against the better hand-written route: ${ratios.join(', ')}`
}

function text (x: number, y: number, content: string, style: string): string {
  return `<text class="${style}" x="${x.toFixed(1).replace('.0', '')}" y="${y}">${escape(content)}</text>`
}

function escape (content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
