"""Designers of releases, one for every estimator of `sanitize.transformers`, which has its name."""

from sanitize._release.designers.best import BestSanitizer as BestSanitizer
from sanitize._release.designers.designer import Designer as Designer
from sanitize._release.designers.exponential import ExponentialChannel as ExponentialChannel
from sanitize._release.designers.gaussian import GaussianChannel as GaussianChannel
from sanitize._release.designers.joint_release import JointRelease as JointRelease
from sanitize._release.designers.merging import SubsetMerging as SubsetMerging
from sanitize._release.designers.merging import Watchdog as Watchdog
from sanitize._release.designers.random_response import OptimalRandomResponse as OptimalRandomResponse
from sanitize._release.designers.random_response import SubsetRandomResponse as SubsetRandomResponse
from sanitize._release.designers.randomized_response import RandomizedResponse as RandomizedResponse
from sanitize._release.designers.trees import TreeMerging as TreeMerging
from sanitize._release.designers.trees import TreeRandomResponse as TreeRandomResponse
