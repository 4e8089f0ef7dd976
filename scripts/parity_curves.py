"""Small networks whose training the CPU build of the C darknet follows exactly: plain chains without batch norm.

Where a unit's input is within rounding of the kink of relu or leaky, two programs may take different slopes, and their
curves part from there; so they are compared with how far darkpy parts from itself when the weights are nudged.
"""

ITERATIONS = 50

_NET = """[net]
batch=4
subdivisions=2
width=160
height=128
channels=3
momentum=0.9
decay=0.0005
angle=0
saturation=1
exposure=1
hue=0
flip=0
mosaic=0
learning_rate=0.0005
burn_in=10
max_batches={iterations}
policy=steps
steps=30,40
scales=.5,.5
"""
_CONVOLUTION = """
[convolutional]
filters={filters}
size={size}
stride={stride}
pad=1
activation={activation}
"""
_POOL = """
[maxpool]
size=2
stride=2
"""
_HEAD = """
[yolo]
mask=0,1,2
anchors=20,26, 51,64, 108,90
classes=3
num=3
jitter=0
random=0
ignore_thresh=.7
truth_thresh=1
{options}
"""
CASES = {  # name: activation, options of the head
    "mse, leaky": ("leaky", "iou_loss=mse"),
    "iou, leaky": ("leaky", "iou_loss=iou\niou_normalizer=0.5"),
    "mse, relu": ("relu", "iou_loss=mse"),
    "giou, relu": ("relu", "iou_loss=giou\niou_normalizer=0.5\nscale_x_y=1.05"),
    "giou, mish": ("mish", "iou_loss=giou\niou_normalizer=0.5\nscale_x_y=1.05"),
    "ciou, mish": ("mish", "iou_loss=ciou\niou_normalizer=0.07\nscale_x_y=1.05\niou_thresh=0.213"),
    "ciou, swish, max_delta": ("swish", "iou_loss=ciou\niou_normalizer=0.07\nmax_delta=5"),
    "mse, logistic, focal_loss": ("logistic", "iou_loss=mse\nfocal_loss=1"),
}


def curve_cfg(name: str) -> str:
    """Return the cfg of a case: five convolutions, a maxpool, a head with three classes."""
    activation, options = CASES[name]
    shapes = ((8, 3, 2), (16, 3, 2), (32, 3, 2), (32, 3, 1))  # filters, size, stride
    parts = [_CONVOLUTION.format(filters=f, size=s, stride=t, activation=activation) for f, s, t in shapes]
    parts.insert(2, _POOL)
    last = _CONVOLUTION.format(filters=24, size=1, stride=1, activation="linear")
    return "".join([_NET.format(iterations=ITERATIONS), *parts, last, _HEAD.format(options=options)])
